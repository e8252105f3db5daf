"""What MuJoCo draws with, and what is said where that is not there."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import pytest

from engine.components import Condition, WrongChoice, requirements
from engine.components.drawing import draw_without_screen, drawing_explained, mujoco_draws


@pytest.fixture(autouse=True)
def mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded; of the libraries that it draws with, this machine has none."""
    monkeypatch.setitem(sys.modules, "mujoco_toy", ModuleType("mujoco_toy"))
    monkeypatch.setattr(requirements, "_loads", lambda *given: False)
    for name in ("DISPLAY", "MUJOCO_GL"):
        monkeypatch.setenv(name, "")  # so that what is tested is undone
        monkeypatch.delenv(name)


DRAWS, KNOWN = "a MUJOCO_GL of egl, osmesa or glfw", "a MUJOCO_GL that MuJoCo knows"


@pytest.mark.parametrize(
    ("value", "frames", "lacks"),
    [
        (None, "none", []),
        (None, "", []),
        (None, "render", ["libEGL"]),
        ("", "render", ["libEGL"]),
        ("EGL ", "render", ["libEGL"]),
        ("egl", "none", ["libEGL"]),
        ("osmesa", "render", ["libOSMesa"]),
        ("osmesa", "", ["libOSMesa"]),
        ("glfw", "render", ["a screen for MUJOCO_GL=glfw"]),
        ("glfw", "none", []),
        ("bogus", "render", [DRAWS]),
        ("bogus", "none", [KNOWN]),
        ("disable", "render", [DRAWS]),
        ("Off", "none", []),
    ],
)
def test_each_value_lacks_what_it_draws_with(
    value: str | None, frames: str, lacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("MUJOCO_GL", value)
    wanted = [one for one in mujoco_draws({}) if one.wanted_by({"frames": frames})]
    assert [one.what for one in wanted if one.wrong()] == lacks


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("bogus", f"MuJoCo needs {DRAWS}, and MUJOCO_GL is 'bogus': unset MUJOCO_GL, for EGL"),
        ("osmesa", "MuJoCo needs libOSMesa, and there is no libOSMesa.so: apt-get install .*libosmesa6, or"),
        ("glfw", "MuJoCo needs a screen for MUJOCO_GL=glfw, and DISPLAY is not set: unset MUJOCO_GL"),
        ("", "MuJoCo needs libEGL, and there is no libEGL.so: apt-get install .*libegl1"),
    ],
)
def test_a_failure_is_told_by_what_is_lacking(value: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", value)
    draw_without_screen(True)
    with pytest.raises(WrongChoice, match=told), drawing_explained(True):
        raise AttributeError("'NoneType' object has no attribute 'glGetError'")


@pytest.mark.parametrize("error", [RuntimeError("gone"), WrongChoice("no such camera")])
def test_a_failure_with_all_there_is_raised_on(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "_loads", lambda *given: True)
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(type(error), match=str(error)), drawing_explained(True):
        raise error


@pytest.mark.parametrize(
    ("given", "then"), [("EGL", "egl"), (" osmesa", "osmesa"), ("", "egl"), (None, "egl")]
)
def test_it_is_written_as_gymnasium_knows_it(
    given: str | None, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if given is not None:
        monkeypatch.setenv("MUJOCO_GL", given)
    draw_without_screen(True)
    assert os.environ["MUJOCO_GL"] == then


def test_a_condition_is_one_of_three() -> None:
    wrong: tuple[dict[str, Any], ...] = ({}, {"path": "/x", "library": "x"})
    for given in wrong:
        with pytest.raises(TypeError, match="one of path, library and variable"):
            Condition("a toy", "", **given)
