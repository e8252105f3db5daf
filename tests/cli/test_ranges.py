"""Numbers that no flag takes are refused in one message, which names the flag and what it takes."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cli.app import COMMANDS, LazyGroup, evaltower
from engine.cli.ranges import Number
from engine.limits import Limit
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import make_run

NONSENSE = (
    "nan",
    "-nan",
    "inf",
    "-inf",
    "1e999",
    "-1e999",
    "",
    "x",
    "0x10",
    "1,5",
    "9" * 5000,
    "-" + "9" * 5000,
)


def parameters() -> list[tuple[str, click.Parameter]]:
    """Every option and argument, with its command's name."""
    context = click.Context(evaltower)
    assert isinstance(evaltower, LazyGroup)
    commands: list[tuple[str, click.Command | None]] = [("", evaltower)]
    commands += [(name, evaltower.get_command(context, name)) for name in COMMANDS]
    return [(name, one) for name, command in commands if command for one in command.params]


NUMBERS = [(name, one) for name, one in parameters() if isinstance(one.type, Number)]


def test_no_flag_takes_a_number_in_another_way() -> None:
    # click's own take NaN and infinity, or any int.
    kinds = click.types.IntParamType, click.types.FloatParamType
    assert not [
        (name, one.name)
        for name, one in parameters()
        if isinstance(one.type, kinds) and not getattr(one, "count", False)
    ]
    assert len(NUMBERS) > 15


@pytest.mark.parametrize(("command", "one"), NUMBERS, ids=[f"{name} {one.opts[0]}" for name, one in NUMBERS])
@pytest.mark.parametrize("value", NONSENSE, ids=[value[:8] or "empty" for value in NONSENSE])
def test_nonsense_is_refused_by_every_flag(
    shell: Shell, root: Path, command: str, one: click.Parameter, value: str
) -> None:
    words = [command] if command else []
    arguments = one.opts if one.param_type_name == "option" else []
    taken = ["x"] * 3 if command in ("run", "verify", "estimate", "cancel", "export") else []
    if one.param_type_name == "argument":
        taken = ["x", "--"]
    said = shell(*words, *taken[:1], *taken[1:2] * (one.param_type_name == "argument"), *arguments[:1], value)
    assert said.code == 2, said.err
    assert said.err.count("Error:") == 1
    assert said.err.count("Invalid value for") == 1
    assert "Traceback" not in said.err
    assert one.opts[0].lstrip("-") in said.err or (one.metavar or "") in said.err
    assert "number" in said.err
    assert len(said.err) < 600


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "toy", "-w", "0"), "'0' is not a whole number from 1 to 4096, or auto."),
        (("run", "toy", "-w", "nan"), "'nan' is not a whole number from 1 to 4096, or auto."),
        (("run", "toy", "-n", "0"), "'-n': '0' is not a whole number from 1 to"),
        (("run", "toy", "--timeout", "0"), "'--timeout': '0' is not a finite number above 0."),
        (("run", "toy", "--repeats", "2.5"), "'--repeats': '2.5' is not a whole number from 1 to 10000."),
        (("run", "toy", "--vram", "-1"), "'--vram': '-1' is not a finite number from 0 to 10000000."),
        (("verify", "toy", "--workers", "1,nan"), "--workers: 'nan' is not a whole number from 1 to 4096."),
        (("verify", "toy", "--workers", f"1,{10**22}"), "is not a whole number from 1 to 4096."),
        (("export", "last", "--episode", "0", "--format", "gif", "--fps", "nan"),
         "'--fps': 'nan' is not a finite number from 0.1 to 240."),
        (("cancel", "last", "--grace", "-1"), "'--grace': '-1' is not a finite number of at least 0."),
    ],
)  # fmt: skip
def test_the_flag_and_what_it_takes_are_named(
    shell: Shell, root: Path, words: tuple[str, ...], told: str
) -> None:
    make_run(root)
    said = shell(*words)
    assert said.code == 2
    assert told in said.err


@given(st.floats() | st.integers(), st.booleans(), st.booleans())
def test_what_a_limit_takes_lies_within_it(value: float, above: bool, bounded: bool) -> None:
    limit = Limit(0, 10.0, above, whole=False) if bounded else Limit(0, above=above, whole=False)
    assert limit.takes(value) == (
        0 <= value < float("inf") and (value > 0 or not above) and (value <= 10 or not bounded)
    )
