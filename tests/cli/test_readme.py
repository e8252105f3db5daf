"""The README's own example, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.cli.app import run_command_line
from engine.main import open_control

README = Path(__file__).parents[2] / "README.md"


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    text: str = found[0]
    return text


def test_the_nodeset_and_the_graph_of_the_readme_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
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
