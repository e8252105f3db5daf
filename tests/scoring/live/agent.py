"""A command-line agent with a real OpenTelemetry SDK: it does its task in the folder it is in, and traces it.

It runs by its path, outside the tests. ``--joins``: its spans go into the trace that ``TRACEPARENT`` names,
else into one of their own. ``--marks-spans``: they carry the run id, as platforms need it that drop what a
process says of itself. ``--waits-for FILE``: it ends when the file is there.
"""

import argparse
import os
import time
from pathlib import Path

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

LONGEST_WAIT_SEC = 120.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("--joins", action="store_true")
    parser.add_argument("--marks-spans", action="store_true")
    parser.add_argument("--waits-for", type=Path)
    asked = parser.parse_args()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("agent")
    above = propagate.extract({"traceparent": os.environ["TRACEPARENT"]}) if asked.joins else None
    marks = {"evaltower.run_id": os.environ["EVALTOWER_RUN_ID"]} if asked.marks_spans else {}
    with tracer.start_as_current_span("invoke_agent", above, attributes=_agent(marks)):
        with tracer.start_as_current_span("chat", attributes=_CHAT):
            pass
        with tracer.start_as_current_span("execute_tool", attributes=_TOOL):
            Path("answer.txt").write_text(asked.task, "utf-8")
        with tracer.start_as_current_span("execute_tool", attributes=_TOOL) as span:
            span.set_status(trace.StatusCode.ERROR, "exit 2")
    provider.shutdown()
    deadline = time.monotonic() + LONGEST_WAIT_SEC
    while asked.waits_for is not None and not asked.waits_for.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{asked.waits_for} did not come")
        time.sleep(0.02)


def _agent(marks: dict[str, str]) -> dict[str, str]:
    return {"gen_ai.operation.name": "invoke_agent", **marks}


_CHAT: dict[str, str | int | float] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "agent-model-1",
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 30,
    "evaltower.cost.usd": 0.25,
}
_TOOL: dict[str, str | int | float] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write"}


if __name__ == "__main__":
    main()
