"""Submits a graph, polls until its run is over, cancels it on Ctrl-C: ``submit.py URL GRAPH [KEY=VALUE …]``.

As AgentCanvas's submission script does it: the queue is the health check, bodies and timeouts are its. Exit
codes: 0 completed, 1 not, 2 refused, 130 interrupted.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from types import FrameType

import httpx


def main(url: str, graph: str, *pairs: str) -> int:
    api = f"{url}/api/eval/v2"
    assert httpx.get(f"{api}/queue", timeout=5).status_code == 200
    body = {
        "graph_name": graph,
        **{key: json.loads(value) for key, _, value in (pair.partition("=") for pair in pairs)},
        "via_subprocess": True,
        "marginal_vram_mb": 0,
        "exclusive_gpu": False,
        "priority": "normal",
    }
    answer = httpx.post(f"{api}/start", json=body, timeout=180)
    if answer.status_code != 200:
        print(answer.text, file=sys.stderr)
        return 2
    run = f"{api}/runs/{answer.json()['run_id']}"
    interrupted = []

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        httpx.post(f"{run}/cancel", json={}, timeout=5).raise_for_status()

    signal.signal(signal.SIGINT, on_interrupt)
    print(answer.json()["run_id"], flush=True)
    while True:
        info = httpx.get(run, timeout=5).json()
        if info["status"] not in ("pending", "running"):
            break
        print(info["status"], len(info["episodes"] or []), flush=True)
        time.sleep(0.1)
    print("final", info["status"], info["elapsed_sec"], info.get("aggregate_metrics"), flush=True)
    if interrupted:
        return 130
    return 0 if info["status"] == "completed" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
