"""What a nodeset needs, asked under its own interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.components.catalog import NodesetManifest
from engine.components.requirements import Program, needs_module, needs_path, needs_program
from engine.hosting.asking import ask_requirements

NODESET = """
from engine.components import BaseNodeSet, needs_module, needs_path
print("chatter on stdout")

class Needy(BaseNodeSet):
    name = "needy"

    def get_tools(self):
        return []

    def requirements(self):
        {answer}
"""


def manifest(folder: Path, answer: str, **more: object) -> NodesetManifest:
    path = folder / "needy.py"
    path.write_text(NODESET.format(answer=answer))
    fields = {"class_name": "Needy", "parallelism": "shared", "parallelism_assumed": False, **more}
    return NodesetManifest(name="needy", path=str(path), **fields)  # type: ignore[arg-type]


def asked(folder: Path, answer: str, deadline: float = 60.0, **more: object) -> dict[str, tuple[bool, str]]:
    (needs,) = ask_requirements([manifest(folder, answer, **more)], deadline)
    return {need.what: (need.met, need.found) for need in needs}


def test_the_hosts_own_needs_come_first_and_then_the_nodesets(tmp_path: Path) -> None:
    found = asked(tmp_path, 'return [needs_module("no_such_module", "pip install it")]')
    assert list(found) == ["module aiohttp", "module msgspec", "module numpy", "module no_such_module"]
    assert [met for met, _ in found.values()] == [True, True, True, False]
    assert found["module no_such_module"][1] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_an_environment_variable_of_the_nodeset_counts(tmp_path: Path) -> None:
    answer = 'import os; return [needs_path("data", os.environ["NEEDY"], "set NEEDY")]'
    assert asked(tmp_path, answer, env={"NEEDY": str(tmp_path)})["data"] == (True, str(tmp_path))


def test_an_answer_that_fails_crashes_or_hangs_is_a_need_that_is_not_met(tmp_path: Path) -> None:
    assert asked(tmp_path, "1 / 0")["its own answer"] == (False, "ZeroDivisionError: division by zero")
    crash = asked(tmp_path, "import os; os.kill(os.getpid(), 11)")["an answer"]
    assert (crash[0], "SIGSEGV" in crash[1]) == (False, True)
    hang = asked(tmp_path, "import time; time.sleep(600)", deadline=2.0)["an answer"]
    assert hang == (False, "asking it took longer than 2 s")


def test_an_interpreter_that_cannot_host_says_so(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    found = asked(tmp_path, "return []", server_python=str(bare))
    assert [met for met, _ in found.values()] == [False, False, False]
    gone = asked(tmp_path, "return []", server_python=str(tmp_path / "gone"))
    assert gone["its interpreter"][0] is False


def test_what_is_there_is_told_with_its_place_or_version(tmp_path: Path) -> None:
    assert needs_module("msgspec", "").met
    assert needs_path("folder", tmp_path, "").found == str(tmp_path)
    assert needs_program(Program(("no-such-program", "sh"), "")).found.endswith("/sh")
    program = Program(("no-such-program",), "apt-get install it")
    missing = needs_program(program)
    assert (missing.met, missing.remedy) == (False, "apt-get install it")
    with pytest.raises(FileNotFoundError, match=r"no no-such-program on the PATH \(apt-get install it\)"):
        program.path()
    with pytest.raises(TypeError, match="names are a tuple of names, not 'java'"):
        Program("java", "")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Program's when are patterns by field, not 'Java'"):
        Program(("java",), "", "Java")  # type: ignore[arg-type]
    (tmp_path / "half_there.py").write_text("raise OSError('libEGL.so.1: cannot open')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        assert needs_module("half_there", "").found == "OSError: libEGL.so.1: cannot open"
    finally:
        sys.path.remove(str(tmp_path))
