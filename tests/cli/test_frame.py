"""The frame of the command line: what is imported, colours, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from engine import main
from engine.cli.app import COMMANDS, run_command_line
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import make_run

HEAVY = ("textual", "numpy", "scipy", "torch", "aiohttp", "rich", "msgspec", "engine.control")


def imported_by(*words: str) -> set[str]:
    code = (
        "import sys; from engine.main import open_control; from engine.cli.app import run_command_line\n"
        "code = run_command_line(open_control, sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    child = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=True
    )
    return set(child.stderr.split())


def test_help_imports_nothing_heavy() -> None:
    assert imported_by("--help").isdisjoint(HEAVY)


@pytest.mark.parametrize("words", [("runs",), ("episodes", "last"), ("log", "last", "0")])
def test_looking_at_runs_imports_no_numpy_torch_textual_or_server(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    make_run(tmp_path)
    found = imported_by("--root", str(tmp_path), *words)
    assert found.isdisjoint({"textual", "numpy", "scipy", "torch", "aiohttp", "psutil", "engine.evaluation"})


def test_showing_numbers_imports_no_torch_textual_or_server(tmp_path: Path) -> None:
    make_run(tmp_path)
    found = imported_by("--root", str(tmp_path), "show", "last")
    assert found.isdisjoint({"textual", "torch", "aiohttp", "psutil", "engine.evaluation"})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(shell: Shell, command: str) -> None:
    said = shell(command, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: evaltower {command}")


def test_usage_errors_are_2_and_one_message(shell: Shell) -> None:
    for words in (("nope",), ("run",), ("run", "toy", "-w", "many"), ("show", "last"), ("run", "toyy")):
        said = shell(*words)
        assert said.code == 2, words
        assert said.out == ""
        assert "Traceback" not in said.err
    assert "near: toy" in shell("run", "toyy").err
    assert "'0' is not a whole number from 1" in shell("run", "toy", "-w", "0").err


@pytest.mark.parametrize("words", [("run", "toy"), ("experiment", "cma", "toy")])
def test_every_problem_of_the_settings_is_a_line_of_its_own(
    shell: Shell, root: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "SERVED_SEC", 3600.0)  # no other backend is waited for
    (root / "evaltower.toml").write_text("[experiment.cma]\n[nonsense]\n[admision]\n")
    said = shell(*words)
    assert said.code == 1
    lines = said.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error"] * 3
    for line, name in zip(lines, ("experiment", "nonsense", "admision"), strict=True):
        assert f"evaltower.toml: there is no section '{name}'" in line


@pytest.mark.parametrize("words", [("runs",), ("nodesets",), ("show", "last"), ("runs", "--json")])
def test_who_only_looks_warns_of_the_settings_and_goes_on(
    shell: Shell, root: Path, words: tuple[str, ...]
) -> None:
    make_run(root)
    before = shell(*words)
    (root / "evaltower.toml").write_text('[ui]\ntheme = "x"\n[admission]\ngrace = -1\n')
    said = shell(*words)
    assert (said.code, said.out) == (before.code, before.out)
    lines = [line for line in said.err.splitlines() if "evaltower.toml" in line]
    assert [line.partition(" must")[0] for line in lines] == [
        "warning: evaltower.toml: [admission] grace",
        "warning: evaltower.toml: [ui] theme",
    ]
    (root / "evaltower.toml").write_text("[ui")
    assert "warning: evaltower.toml: it cannot be read" in shell(*words).err


@pytest.mark.slow
def test_doctor_names_everything_that_is_wrong_with_the_settings(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def told() -> list[str]:
        capfd.readouterr()
        words = ["--root", str(root), "doctor", "--json"]
        assert run_command_line(main.open_control, words, key_problems=main.key_problems) == 1
        items = json.loads(capfd.readouterr().out)
        return [item["detail"] for item in items if item["name"] == "evaltower.toml"]

    (root / "evaltower.toml").write_text("[experimets]\n")
    assert told() == ["there is no section 'experimets': did you mean 'experiments'?"]
    text = """
[keys]
"runs.nwe" = "n"
[experiments.a]
defaults = { worker_cuont = 1, episode_count = "x", graph_name = "toy" }
"""
    (root / "evaltower.toml").write_text(text)
    worker, graph, count, key = told()
    where = "[experiments.a] defaults: "
    assert worker == f"{where}there is no field 'worker_cuont': did you mean 'worker_count'?"
    assert graph.startswith(f"{where}there is no field 'graph_name'")
    assert count == f"{where}episode_count must be a whole number, not text"
    assert key == "[keys] there is no action 'runs.nwe': did you mean 'runs.new'?"


def test_colour_only_on_a_terminal_that_wants_it(tmp_path: Path) -> None:
    make_run(tmp_path)

    def shown(**environment: str) -> str:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "engine.main", "--root", str(tmp_path), "runs"],
            env={"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", **environment},
            encoding="utf-8",
            timeout=60,
            dimensions=(40, 200),
        )
        text: str = child.read()
        child.close()
        assert child.exitstatus == 0
        return text

    assert "\x1b[32mcompleted" in shown()
    assert "\x1b" not in shown(NO_COLOR="1")
    piped = subprocess.run(
        [sys.executable, "-m", "engine.main", "--root", str(tmp_path), "runs"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "\x1b" not in piped.stdout


def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path) -> None:
    for _ in range(2):
        make_run(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-m", "engine.main", "--root", str(tmp_path), "runs"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(60) == 1
