"""The README's own examples, as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from engine.cli.app import run_command_line
from engine.main import open_control
from engine.scoring.graders import KINDS
from engine.scoring.ladder import DEFAULT_LADDER
from engine.scoring.reading import read_scoring
from engine.scoring.secrets import FILE, Secrets
from engine.scoring.spec import SinkKind, TraceKind
from engine.store.rundir import runs_folder
from engine.store.settings import read_settings
from engine.store.slurm_settings import SlurmSettings

README = Path(__file__).parents[2] / "README.md"


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    text: str = found[0]
    return text


def test_the_nodeset_and_the_graph_of_the_readme_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    for folder, name, text in (
        ("nodesets", "env_guess.py", block("python")),
        ("graphs", "guess.json", block("json")),
    ):
        (tmp_path / "workspace" / folder).mkdir(parents=True)
        (tmp_path / "workspace" / folder / name).write_text(text)
    root = ["--root", str(tmp_path)]
    assert run_command_line(open_control, [*root, "check", "guess"]) == 0
    assert run_command_line(open_control, [*root, "verify", "guess", "-n", "6", "--workers", "1,2"]) == 0
    assert "same: 6 episodes compared" in capfd.readouterr().out
    assert run_command_line(open_control, [*root, "show", "last"]) == 0
    assert "success  1.000" in capfd.readouterr().out


def test_every_setting_of_a_cluster_is_told_with_its_default() -> None:
    page = README.read_text().partition("## On a Slurm cluster\n")[2].partition("\n## ")[0]
    told: dict[str, str] = {}
    for names, default in re.findall(r"^\| (`\w.*?) \| (.*?) \|", page, re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), default)
    assert told.keys() == set(SlurmSettings.__struct_fields__)
    for name in told:
        default = getattr(SlurmSettings(), name)
        written = "the estimate" if default is None else '`""`' if default == "" else f"`{default}`"
        assert told[name].startswith(written), name


def scoring_part() -> str:
    return README.read_text().partition("## Scoring\n")[2].partition("## The run folder")[0]


def test_the_scoring_of_the_readme_can_be_asked_for(tmp_path: Path) -> None:
    example = re.search(r"^```\n(\{.*?\})\n```$", scoring_part(), re.MULTILINE | re.DOTALL)
    assert example is not None
    asked = read_scoring(json.loads(example[1]))
    assert [grader.id for grader in asked.graders] == ["tests-pass", "steps"]
    toml = re.findall(r"^```toml\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "evaltower.toml").write_text("".join(one for one in toml if "[[gpus]]" not in one))
    assert asked.judges[0].profile in read_settings(tmp_path).profiles


def test_the_secrets_of_the_readme_are_read(tmp_path: Path) -> None:
    example = re.search(r"^```\n(LANGFUSE = .*?)^```$", scoring_part(), re.MULTILINE | re.DOTALL)
    assert example is not None
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text(example[1])
    path.chmod(0o600)
    secrets = Secrets(tmp_path, {})
    assert secrets.get("LANGFUSE") == "pk-lf-1234:sk-lf-5678"
    assert secrets.get("mlflow-token") == "a token"


def test_the_readme_knows_every_kind_of_grader_trace_and_sink_and_every_rung() -> None:
    text = scoring_part()
    table = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {kind for cell in table for kind in re.findall(r"`([a-z-]+)`", cell)} == set(KINDS)
    sources, _, sinks = text.partition("Traces come from")[2].partition("Episodes go to")
    assert {kind for kind in get_args(TraceKind) if f"`{kind}`" in sources} == {*get_args(TraceKind)} - {
        "none"
    }
    assert all(f"`{kind}`" in sinks.partition(".")[0] for kind in get_args(SinkKind))
    ladder = text.partition("The verdict is")[2].partition("So tests")[0]
    rungs = [re.findall(r"`([a-z_]+)`", rung) for rung in ladder.partition(":\n")[2].split(";")]
    assert [tuple(rung) for rung in rungs[:3]] == list(DEFAULT_LADDER[:3])


def test_the_agent_of_the_readme_answers_and_is_measured(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    example = re.search(r"^\$ evaltower (run workspace_answer .*)\n(.*)$", scoring_part(), re.MULTILINE)
    assert example is not None
    root = ["--root", str(tmp_path)]
    assert run_command_line(open_control, [*root, *shlex.split(example[1])]) == 0
    assert capfd.readouterr().out.startswith(f"{example[2]}\n")
    [run] = runs_folder(tmp_path).iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["config"]["split"] == "questions"
    assert summary["metric_stats"]["answer_match"]["n"] == 3
