"""What a user of LangSmith's client does: a run written in each way, and feedback. Argument: the URL."""

import sys
from datetime import UTC, datetime
from uuid import UUID, uuid4

from langsmith import Client

url, session = sys.argv[1:]
client = Client(api_url=url, api_key="ls-key-123456", auto_batch_tracing=False)
run_id = uuid4()
now = datetime.now(UTC)
run = {
    "id": run_id,
    "trace_id": run_id,
    "dotted_order": f"{now:%Y%m%dT%H%M%S%f}Z{run_id}",
    "name": "fixer",
    "run_type": "llm",
    "inputs": {"input": "x"},
    "outputs": {"output": "y"},
    "start_time": now,
    "end_time": now,
    "error": "no",
    "session_name": "evals",
    "extra": {"metadata": {"ls_model_name": "gpt-tiny"}},
}
client.multipart_ingest(create=[dict(run)])
one = {**run, "id": uuid4()}
kind = one.pop("run_type")
client.create_run(one.pop("name"), one.pop("inputs"), kind, project_name="evals", **one)
client.create_feedback(
    run_id,
    "tests_pass",
    score=0.123456,
    value="good",
    comment="why",
    session_id=UUID(session),
    feedback_source_type="model",
)
client.read_project(project_name="evals")
print("null")
