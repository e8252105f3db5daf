"""A real OpenTelemetry SDK in the harness's place; Jaeger's by a double in its shape."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from engine.scoring.collect import collect
from engine.scoring.correlation import trace_id
from tests.fakes.platforms.double import running
from tests.fakes.platforms.jaeger import JaegerDouble
from tests.scoring.sources.conftest import RUN, MakeSource

HARNESS = """
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
import os

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("agent")
above = propagate.extract({"traceparent": os.environ["TRACEPARENT"]})
named = {"gen_ai.operation.name": "invoke_agent"}
with tracer.start_as_current_span("invoke_agent", above, attributes=named):
    with tracer.start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.request.model", "m-1")
        span.set_attribute("gen_ai.usage.input_tokens", 12)
        span.set_attribute("gen_ai.usage.output_tokens", 3)
    with tracer.start_as_current_span("execute_tool", attributes={"gen_ai.tool.name": "grep"}) as span:
        span.set_status(trace.StatusCode.ERROR, "exit 2")
provider.shutdown()
"""


@pytest.mark.parametrize("options", [{}, {"v3": False}], ids=["v3", "legacy"])
async def test_what_the_sdk_sends_is_found_by_tag_and_by_id(
    make: MakeSource, options: dict[str, bool]
) -> None:
    async with running(JaegerDouble(**options)) as jaeger:
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": jaeger.url,
            "OTEL_SERVICE_NAME": "agent",
            "OTEL_RESOURCE_ATTRIBUTES": f"evaltower.run_id={RUN}",
            "TRACEPARENT": f"00-{trace_id(RUN)}-00f067aa0ba902b7-01",
        }
        command = [sys.executable, "-c", HARNESS]
        ended = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, timeout=60)
        assert ended.returncode == 0, ended.stderr.decode()
        searched = await collect(make("otel", jaeger, correlate="tag", service="agent"), RUN)
        named = await collect(make("otel", jaeger), RUN)
    assert searched == named
    agent, call, tool, result = searched
    assert (agent["kind"], agent["name"]) == ("span", "invoke_agent")
    assert (call["model"], call["cost"]) == ("m-1", {"prompt_tokens": 12, "completion_tokens": 3})
    assert (tool["name"], result["ok"], result["output"]) == ("grep", False, "exit 2")
