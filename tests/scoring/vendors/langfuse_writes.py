"""What a user of Langfuse's client does: an observation and a score. Argument: the URL. Prints the attributes
that it knows."""

import json
import sys

from langfuse import Langfuse, LangfuseOtelSpanAttributes

client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-2", base_url=sys.argv[1])
with client.start_as_current_observation(name="fixer", as_type="agent"):
    trace_id = client.get_current_trace_id()
client.create_score(
    score_id="s1",
    trace_id=trace_id,
    name="tests_pass",
    value=1.0,
    data_type="NUMERIC",
    comment="why",
    metadata={"a": "b"},
)
client.flush()
client.shutdown()
print(json.dumps([str(value) for name, value in vars(LangfuseOtelSpanAttributes).items() if name.isupper()]))
