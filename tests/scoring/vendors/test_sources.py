"""Contract tests: the vendors' own clients read the doubles, and what they ask is held against what our
sources ask."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.scoring.correlation import RUN_KEY
from engine.scoring.sources import langfuse
from tests.fakes.platforms.double import Asked, Double, running
from tests.fakes.platforms.langfuse_reads import LangfuseDouble
from tests.fakes.platforms.langsmith_reads import LangsmithDouble
from tests.scoring.sources.conftest import RUN, TRACE, MakeSource
from tests.scoring.sources.test_langfuse_contract import agent_run as langfuse_run
from tests.scoring.sources.test_langsmith_contract import ROOT, SESSION
from tests.scoring.vendors.conftest import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STARTED = {"start_time": "2026-05-18T14:30:00", "trace_id": ROOT, "session_id": SESSION, "status": "success"}
CALL = "1ea7651916cd43dd8448eb211c80319c"


def smith(root: str, **options: Any) -> LangsmithDouble:
    runs = [
        {**STARTED, "id": ROOT, "name": "agent", "run_type": "chain", "extra": {"metadata": {RUN_KEY: RUN}}},
        {
            **STARTED,
            "id": f"{CALL[:8]}-{CALL[8:12]}-{CALL[12:16]}-{CALL[16:20]}-{CALL[20:]}",
            "name": "call",
            "run_type": "llm",
            "parent_run_id": ROOT,
            "extra": {"metadata": {}},
            "total_cost": "0.25",
        },
    ]
    info = {f"{root}/info": (200, {"version": "0.16.14"})}
    return LangsmithDouble(runs=runs, sessions={"agents": SESSION}, root=root, instead=info, **options)


@pytest.mark.parametrize("root", ["", "/api", "/api/v1"], ids=["cloud", "of a host", "of a host, v1"])
async def test_runs_are_asked_for_where_and_as_langsmiths_client_does(
    client_of: Client, make: MakeSource, root: str
) -> None:
    wanted = f'and(eq(metadata_key, "{RUN_KEY}"), eq(metadata_value, "{RUN}"))'
    async with (
        running(smith(root)) as theirs,
        running(smith(root)) as new,
        running(smith(root, v2=False)) as old,
    ):
        for double in (new, old):
            asked = {"correlate": "tag", "project": SESSION}
            assert len(await make("langsmith", double.url + root, "ls-key-123456", **asked).fetch(RUN)) >= 1
        (query,) = [asked.body for asked in _posted(old, f"{root}/runs/query") if "trace" in asked.body]
        *read, known = await client_of(
            "langsmith_reads.py", theirs.url + root, ROOT, SESSION, wanted, json.dumps(query["select"])
        )
        assert [[len(runs) for runs in api] for api in read] == [[2, 1], [2, 1]]

    for double, path in ((old, f"{root}/runs/query"), (new, "/api/v2/runs/query")):
        ours, sdks = _posted(double, path), _posted(theirs, path)
        assert [len(ours), len(sdks)] == [2, 2]
        assert {_header(asked, "x-api-key") for asked in (*ours, *sdks)} == {"ls-key-123456"}
        names = {name for asked in sdks for name in asked.body}
        assert {name for asked in ours for name in asked.body} <= names
    assert {field for asked in _posted(new, "/api/v2/runs/query") for field in asked.body["selects"]} <= {
        *known
    }


async def test_observations_are_asked_for_as_langfuses_client_does(
    client_of: Client, make: MakeSource
) -> None:
    observations = [{**seen, "projectId": "p"} for seen in langfuse_run(metadata={RUN_KEY: RUN})]
    wanted = [{"type": "stringObject", "column": "metadata", "operator": "=", "value": RUN, "key": RUN_KEY}]
    async with (
        running(LangfuseDouble(observations=observations, page=3)) as theirs,
        running(LangfuseDouble(observations=observations, page=3)) as ours,
    ):
        assert len(await make("langfuse", ours, "pk-lf-1:sk-lf-2", correlate="tag").fetch(RUN)) >= 3
        seen, found = await client_of(
            "langfuse_reads.py", theirs.url, TRACE, langfuse.FIELDS, json.dumps(wanted)
        )
    assert (len(seen), found) == (4, [TRACE])

    def asked_of(double: Double) -> list[dict[str, str]]:
        return [asked.query for asked in double.asked if asked.path == "/api/public/v2/observations"]

    def by_filter(query: dict[str, str]) -> bool:
        return "filter" in query

    assert sorted(asked_of(ours), key=by_filter) == sorted(asked_of(theirs), key=by_filter)
    assert {_header(asked, "authorization") for asked in (*ours.asked, *theirs.asked)} == {
        "Basic cGstbGYtMTpzay1sZi0y"
    }


def _header(asked: Asked, name: str) -> str | None:
    return {told.lower(): value for told, value in asked.headers.items()}.get(name)


def _posted(double: Double, path: str) -> list[Asked]:
    return [asked for asked in double.asked if asked.method == "POST" and asked.path == path]
