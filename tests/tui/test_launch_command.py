"""The command line beside the form starts what the form starts."""

from __future__ import annotations

import shlex
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cli.commands import run
from engine.control.reports import StartRequest
from tui.launch_command import command_of

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
episodes = st.one_of(
    st.builds(dict, episode_count=st.sampled_from([-1, 1, 24]), start_episode_index=st.integers(0, 99)),
    st.builds(dict, episode_indices=st.lists(st.integers(0, 99), min_size=1, max_size=5)),
)
scalars = st.one_of(words, st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
requests = st.builds(
    lambda listed, **more: StartRequest(**listed, **more),
    episodes,
    graph_name=names,
    split=st.one_of(st.just(""), words),
    dataset=st.one_of(st.just(""), words),
    selectors=st.dictionaries(names, scalars, max_size=3),
    step_budget=st.one_of(st.none(), st.integers(1, 500)),
    worker_count=st.integers(1, 16),
    seed=st.integers(0, 2**40),
    label=st.one_of(st.just(""), words),
    repeats=st.integers(1, 5),
    retries=st.integers(0, 2),
    timeout_sec=st.one_of(st.none(), st.integers(1, 9000).map(float)),
    priority=st.sampled_from(["high", "normal", "low"]),
    exclusive_gpu=st.booleans(),
    marginal_vram_mb=st.one_of(st.none(), st.integers(0, 90000).map(float)),
    gpus=st.lists(names, max_size=2, unique=True),
    depends_on=st.lists(names, max_size=2),
)


def asked_by(command: str) -> StartRequest:
    """What the command would start."""
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == ("evaltower", "run")
    asked: list[StartRequest] = []
    app = SimpleNamespace(control=None, running=SimpleNamespace(show=lambda run: SimpleNamespace(run_id=run)))
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(run, "start_and_follow", lambda control, request, **how: asked.append(request))
        run.command.main(arguments, standalone_mode=False, obj=app)
    return asked[0]


@given(requests)
def test_it_asks_for_the_same(request: StartRequest) -> None:
    assert asked_by(command_of(request)) == request


def test_it_says_only_what_is_not_so_anyhow() -> None:
    assert command_of(StartRequest(graph_name="follow")) == "evaltower run follow"
    told = command_of(StartRequest(graph_name="follow", episode_indices=[0, 3, 7, 8, 9], worker_count=4))
    assert told == "evaltower run follow --episodes 0,3,7-9 -w 4"


@pytest.mark.parametrize("more", [{"graph": {}}, {"episode_selectors": [{}]}, {"scoring": {"judge": {}}}])
def test_where_no_command_says_it_there_is_none(more: dict[str, Any]) -> None:
    assert command_of(StartRequest(graph_name="follow", **more)) == ""
