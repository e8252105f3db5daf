"""Which packages an interpreter lacks, without importing any."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from engine.components.catalog import NodesetManifest
from engine.components.packages import absent_packages
from engine.components.requirements import Package


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """This interpreter by another name, that counts in ``asked`` how often it was started."""
    return _interpreter(tmp_path, f'echo once >> {tmp_path}/asked\nexec {sys.executable} "$@"')


def _interpreter(folder: Path, does: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


def absent(folder: Path, *packages: Package, **more: Any) -> list[str]:
    fields = {"class_name": "Needy", "parallelism": "shared", "parallelism_assumed": False, **more}
    manifest = NodesetManifest(name="needy", path=str(folder), **fields)
    return [package.name for _, package in absent_packages([(manifest, packages)], folder / "cache")]


def test_of_alternatives_one_is_enough_and_a_module_below_another_is_looked_for(tmp_path: Path) -> None:
    wanted = (("no_such", "msgspec"), ("importlib.machinery",), ("importlib.no_such",), ("msgspec.no_such",))
    packages = [Package(modules, "") for modules in wanted]
    assert absent(tmp_path, *packages) == ["importlib.no_such", "msgspec.no_such"]


def test_what_was_found_is_not_asked_for_again_and_what_was_not_is(tmp_path: Path, python: Path) -> None:
    there, gone = Package(("msgspec",), ""), Package(("no_such",), "")
    for _ in range(3):
        assert absent(tmp_path, there, server_python=str(python)) == []
    assert _asked(tmp_path) == 1
    for _ in range(2):
        assert absent(tmp_path, there, gone, server_python=str(python)) == ["no_such"]
    assert _asked(tmp_path) == 3


def test_a_place_of_its_own_counts_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "simulator.py").write_text("1 / 0\n")
    package = Package(("simulator",), "", beside="SIMULATOR_ROOT/built")
    assert absent(tmp_path, package) == ["simulator"]
    monkeypatch.setenv("SIMULATOR_ROOT", str(tmp_path))
    assert absent(tmp_path, package) == []
    (tmp_path / "built" / "simulator.py").unlink()
    assert absent(tmp_path, package) == ["simulator"]


def test_another_interpreter_has_to_have_what_hosting_takes(tmp_path: Path) -> None:
    bare = _interpreter(tmp_path, f'exec {sys.executable} -S -E "$@"')
    assert absent(tmp_path, server_python=str(bare)) == ["aiohttp", "msgspec", "numpy"]


@pytest.mark.parametrize("does", ["exit 3", "echo nonsense", "kill -SEGV $$"])
def test_of_an_interpreter_that_does_not_answer_nothing_is_said(tmp_path: Path, does: str) -> None:
    broken = _interpreter(tmp_path, does)
    assert absent(tmp_path, Package(("no_such",), ""), server_python=str(broken)) == []


def test_a_package_that_is_declared_wrongly_is_refused() -> None:
    with pytest.raises(TypeError, match="a Package's modules are a tuple of names, not 'torch'"):
        Package("torch", "pip install torch")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="unterminated"):
        Package(("torch",), "", {"task": "("})


def _asked(folder: Path) -> int:
    return len((folder / "asked").read_text().splitlines())
