"""The observations of a trace as Langfuse's client reads them, and those that a filter finds. Arguments: the
URL, a trace, the fields, the filter."""

import json
import sys

from langfuse import Langfuse

url, trace, fields, wanted = sys.argv[1:]
client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-2", base_url=url, tracing_enabled=False)
seen = []
cursor = None
while True:
    page = client.api.observations.get_many(trace_id=trace, fields=fields, limit=1000, cursor=cursor)
    seen += page.data
    cursor = page.meta.cursor
    if cursor is None:
        break
found = client.api.observations.get_many(filter=wanted, fields="core", limit=1000)
client.shutdown()
print(json.dumps([[one.id for one in seen], [one.trace_id for one in found.data]]))
