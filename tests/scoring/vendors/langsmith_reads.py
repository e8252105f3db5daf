"""The runs of a trace, and the roots that a filter finds, as LangSmith's client reads them by both APIs.
Arguments: the URL, a trace, a project's id, the filter, and the fields to ask for by v1."""

import asyncio
import json
import sys
from typing import get_args

from langsmith import Client
from langsmith.types.run_select_field import RunSelectField

url, trace, session, wanted, fields = sys.argv[1:]
client = Client(api_url=url, api_key="ls-key-123456")
roots = {"is_root": True, "filter": wanted}
v1 = {"select": json.loads(fields), "limit": 100}
runs = client.list_runs(trace_id=trace, **v1)
found = client.list_runs(project_id=session, **roots, **v1)
old = [[str(run.id) for run in runs], [str(run.id) for run in found]]


async def read() -> list[list[str]]:
    page = {"project_ids": [session], "page_size": 1000, "min_start_time": "2026-01-01T00:00:00Z"}
    runs = client.runs.query_v2(trace_id=trace, selects=[*get_args(RunSelectField)], **page)
    found = client.runs.query_v2(selects=["ID", "TRACE_ID"], **roots, **page)
    return [[str(run.id) async for run in runs], [str(run.id) async for run in found]]


print(json.dumps([old, asyncio.run(read()), get_args(RunSelectField)]))
