"""The shell against a backend that lives in another process, and one that changes hands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from engine.control.reader import Reader
from engine.store.backend_lock import live_backend
from tests.cli.conftest import Shell
from tests.cli.test_run import EVALTOWER, start_and_wait
from tests.control.waiting import wait_for, wait_until_over

SUBMIT = """
import json, os, urllib.request
url = os.environ["BACKEND_URL"] + "/api/eval/v2/start"
body = json.dumps({"graph_name": "toy", "selectors": {"fake": "hang"}}).encode()
print(urllib.request.urlopen(urllib.request.Request(url, body, method="POST")).read().decode(), flush=True)
"""


@contextmanager
def evaltower(root: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", EVALTOWER, "--root", str(root), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "EVALTOWER_ROOT": ""},
    )
    try:
        yield child
    finally:
        child.terminate()
        child.communicate(timeout=60)


@pytest.fixture
def backend(root: Path) -> Iterator[subprocess.Popen[str]]:
    """``evaltower --serve``, whose runs end as the selector ``fake`` says."""
    with evaltower(root, "--serve", "--port", "0") as child:
        wait_for(lambda: (found := live_backend(root)) is not None and bool(found.url), "the backend")
        yield child


def test_a_queue_is_operated_from_a_shell(backend: subprocess.Popen[str], root: Path, shell: Shell) -> None:
    assert shell("pause").code == 0
    runs = [shell("run", "toy", "-n", "2", "--no-follow").out.strip() for _ in range(3)]
    report = shell("queue", "--json").json
    assert [run["run_id"] for run in report["queued"]] == runs
    assert report["paused"] is True
    assert "paused" in report["queued"][0]["reason"]
    assert shell("move", runs[2], "1").out.strip() == f"{runs[2]} is 1st"
    assert shell("priority", runs[1], "high", "--json").json["position"] == 1
    assert shell("hold", runs[0]).code == 0
    assert [run["run_id"] for run in shell("queue", "--json").json["queued"]] == [runs[1], runs[2], runs[0]]
    assert shell("cancel", runs[2]).out.split() == [runs[2], "cancelled"]
    again = shell("cancel", runs[2], "--json")
    assert (again.code, "over already" in again.json[0]["error"]) == (1, True)
    assert shell("unpause").code == 0
    assert wait_until_over(Reader(root), runs[1]).status == "completed"
    assert shell("hold", runs[1]).code == 1
    assert shell("resume", runs[2], "--json").json["status"] == "completed"
    assert shell("show", runs[0], "--json").json["status"] == "pending"
    assert shell("delete", runs[0]).code == 1
    assert shell("hold", runs[0], "--release").code == 0
    assert wait_until_over(Reader(root), runs[0]).status == "completed"
    wait_for(lambda: shell("delete", runs[0]).code == 0, "the end of its processes")
    assert shell("show", runs[0]).code == 2
    assert shell("estimate", "toy", "-w", "2", "--json").json["worker_count"] == 2
    assert shell("estimate", "toyy").code == 2
    assert "ending" in shell("stop").out
    assert backend.wait(60) == 0
    assert shell("queue").code == 3


PROFILE = '[profiles.big]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "BIG_KEY"\n'
ASKS = {"id": "ask", "type": "llmCall", "config": {"profile": "big", "user_prompt": "?"}}


@pytest.mark.slow
def test_a_key_that_only_the_shell_has_is_asked_for_where_the_run_looks(
    backend: subprocess.Popen[str], root: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIG_KEY", "s3cr3t-0123456789")
    (root / "evaltower.toml").write_text(PROFILE)
    asked = root / "asked.json"
    asked.write_bytes(msgspec.json.encode({"judges": [{"id": "a", "profile": "big"}, {"id": "b"}]}))
    told = f"BIG_KEY is set here, and not for the backend, process {backend.pid}, whose environment the run"
    said = shell("run", "toy", "-n", "1", "--scoring", str(asked))
    assert said.code != 0
    assert " ".join(said.err.split()).count(told) == 1
    assert "end the backend and start it where the variable is set" in " ".join(said.err.split())
    graph = msgspec.json.decode((root / "workspace" / "graphs" / "toy.json").read_bytes())
    graph["nodes"].append(ASKS)
    (root / "workspace" / "graphs" / "asks.json").write_bytes(msgspec.json.encode(graph))
    said = shell("run", "asks", "-n", "1")
    assert said.code != 0
    assert told in " ".join(said.err.split())
    assert shell("runs", "--json").json == []

    monkeypatch.delenv("BIG_KEY")
    assert shell("run", "toy", "-n", "1", "--scoring", str(asked)).code == 0, "it costs the judges' scores"
    monkeypatch.setenv("BIG_KEY", "s3cr3t-0123456789")
    wait_for(lambda: "has just ended" not in shell("rescore", "last").err, "the end of its processes")
    said = shell("rescore", "last")
    assert said.code != 0
    assert told in " ".join(said.err.split())


@pytest.mark.slow
def test_a_secret_that_only_the_shell_has_is_asked_for_where_the_run_looks(
    backend: subprocess.Popen[str], root: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "s3cr3t-0123456789"
    monkeypatch.setenv("EVALTOWER_SECRET_INGEST", value)
    sink = {"name": "ours", "kind": "otlp", "endpoint": "http://127.0.0.1:9", "auth_secret": "ingest"}
    asked = root / "asked.json"
    asked.write_bytes(msgspec.json.encode({"sinks": [sink]}))
    told = (
        f"auth_secret: EVALTOWER_SECRET_INGEST is set here, and not for the backend, process {backend.pid},"
    )
    said = shell("run", "toy", "-n", "1", "--scoring", str(asked))
    assert said.code != 0
    assert told in " ".join(said.err.split())
    assert "add 'ingest' to outputs/secrets.toml (mode 0600)" in " ".join(said.err.split())
    assert shell("runs", "--json").json == []

    filed = root / "outputs" / "secrets.toml"
    filed.touch(0o600)
    filed.write_text(f'ingest = "{value}"')
    assert shell("run", "toy", "-n", "1", "--scoring", str(asked)).code == 0
    filed.unlink()
    wait_for(lambda: "has just ended" not in shell("rescore", "last").err, "the end of its processes")
    said = shell("rescore", "last")
    assert said.code != 0
    assert told in " ".join(said.err.split())
    for path in (root / "outputs").rglob("*"):
        assert not path.is_file() or value.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_watch_and_a_submitting_command(backend: subprocess.Popen[str], root: Path, shell: Shell) -> None:
    with (
        evaltower(root, "watch", "--json") as watch,
        evaltower(
            root, "experiment", "any", "--", sys.executable, "-c", f"{SUBMIT}\nimport time; time.sleep(60)"
        ) as submitter,
    ):
        assert submitter.stdout is not None
        assert watch.stdout is not None
        run = msgspec.json.decode(submitter.stdout.readline())["run_id"]
        changes = map(msgspec.json.decode, watch.stdout)
        assert next(change["run_id"] for change in changes) == run
        assert Reader(root).find(run).read_spec().scheduling["exclusive_gpu"] is True
        submitter.send_signal(signal.SIGINT)
        assert next(change for change in changes if change["status"] == "cancelled")["run_id"] == run
        assert submitter.wait(60) == 130
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 130


@pytest.mark.slow
def test_a_hung_up_run_goes_on_with_a_successor(root: Path, cache_home: Path, shell: Shell) -> None:
    child, run = start_and_wait(root, "hang", cache_home)
    second = shell("run", "toy", "-n", "1", "--label", "mine", "--no-follow").out.strip()
    assert second
    child.send_signal(signal.SIGHUP)
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGHUP
    assert Reader(root).show(run).status == "running"
    assert run in shell("queue").out
    assert shell("cancel", run).code == 0
    assert wait_until_over(Reader(root), run).status == "cancelled"
    assert wait_until_over(Reader(root), second).status == "completed"


@pytest.mark.slow
def test_commands_that_start_at_once_share_one_backend(root: Path, shell: Shell) -> None:
    words = ("run", "toy", "-n", "1", "--json")
    with evaltower(root, *words) as one, evaltower(root, *words) as two, evaltower(root, *words) as three:
        documents = [msgspec.json.decode(child.communicate(timeout=90)[0]) for child in (one, two, three)]
    assert [document.get("status") for document in documents] == ["completed"] * 3, documents
    assert len({document["run_id"] for document in documents}) == 3
