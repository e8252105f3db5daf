"""The launch form without a screen: what is typed, what is offered, and the request that follows."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.control.queue_reports import EstimateReport, ResourceEstimate
from engine.control.reports import StartRequest
from engine.control.scoring import NOT_SCORED
from engine.graph.model import Problem
from tests.fakes.control import fake_gpus
from tests.tui.offers import FITS, OFFER
from tui.episode.inks import text_of
from tui.launch_estimate import estimate_lines
from tui.launch_fields import Field, fields, with_problems
from tui.launch_form import LaunchForm, form_of, remembered, request_of
from tui.launch_scoring import NONE
from tui.launch_values import Episodes, episodes_text, parse_episodes, whole


def form(**typed: str) -> LaunchForm:
    """A form that knows what the environment offers."""
    begun = form_of(StartRequest(graph_name="gridhouse_follow"))
    values = {key.replace("__", "."): value for key, value in typed.items()}
    return replace(begun, values={**begun.values, **values}, offer=OFFER)


def field(of: LaunchForm, key: str) -> Field:
    return next(one for one in fields(of) if one.key == key)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("all", Episodes()),
        (" All  from 7 ", Episodes(-1, 7)),
        ("24", Episodes(24)),
        ("24 from 100", Episodes(24, 100)),
        ("only 3", Episodes(indices=[3])),
        ("only 0,3, 7-9", Episodes(indices=[0, 3, 7, 8, 9])),
        ("5,2", Episodes(indices=[5, 2])),
    ],
)
def test_episodes_are_named_in_words(typed: str, meant: Episodes) -> None:
    assert parse_episodes(typed) == meant


@pytest.mark.parametrize(
    "typed", ["0", "-1", "some", "only", "only 9-7", "only x", "3 of 4", "only 0-999999999"]
)
def test_what_names_no_episodes_says_how_to(typed: str) -> None:
    with pytest.raises(ValueError, match=r"episode|only"):
        parse_episodes(typed)


@given(
    st.one_of(
        st.tuples(st.integers(1, 10**6) | st.just(-1), st.integers(0, 10**6), st.none()),
        st.tuples(st.just(-1), st.just(0), st.lists(st.integers(0, 999), min_size=1, max_size=40)),
    )
)
def test_episodes_are_told_as_they_are_read(meant: tuple[int, int, list[int] | None]) -> None:
    assert parse_episodes(episodes_text(*meant) or "all") == meant


@pytest.mark.parametrize("typed", ["", "two", "1.5", "0", "-3", "9" * 30])
def test_a_number_of_workers_is_whole_and_at_least_one(typed: str) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        whole(typed, 1)


def test_what_the_environment_offers_are_fields_and_what_the_run_sets_is_none() -> None:
    keys = [one.key for one in fields(form())]
    assert keys[:5] == ["graph", "env", "split", "panel.weather", "panel.slip"]
    assert "panel.episode_index" not in keys
    assert "panel.split" not in keys
    assert dict(field(form(), "split").options)["val_unseen"] == "120 episodes"
    assert field(form(), "episodes").default == "all 120"
    assert field(form(split="train"), "episodes").default == "all 400"


def test_a_form_in_which_nothing_was_typed_asks_for_the_defaults() -> None:
    assert request_of(form()) == StartRequest(graph_name="gridhouse_follow")


def test_what_was_typed_is_asked_for_in_the_types_of_the_panel() -> None:
    asked = request_of(
        form(
            split="train",
            episodes="3 from 4",
            workers="2",
            steps="50",
            repeats="5",
            seed="7",
            priority="high",
            label=" mine ",
            panel__slip="0.25",
            panel__weather="1",
        )
    )
    assert asked == StartRequest(
        graph_name="gridhouse_follow",
        split="train",
        episode_count=3,
        start_episode_index=4,
        worker_count=2,
        step_budget=50,
        repeats=5,
        seed=7,
        priority="high",
        label="mine",
        selectors={"slip": 0.25, "weather": 1},
    )


@pytest.mark.parametrize(
    ("key", "typed", "told"),
    [
        ("workers", "none", "whole number"),
        ("panel__slip", "1.5", "0 to 1"),
        ("panel__slip", "nan", "0 to 1"),
        ("panel__weather", "snow", "not offered"),
        ("split", "test", "not offered; there are train"),
        ("episodes", "many", "24 from 100"),
    ],
)
def test_what_cannot_be_is_told_at_its_field(key: str, typed: str, told: str) -> None:
    assert told in field(form(**{key: typed}), key.replace("__", ".")).problem


def test_what_the_backend_refuses_is_told_at_its_field_until_that_is_typed_anew() -> None:
    told = with_problems(
        form(),
        [
            Problem("bad-request", "worker_count", "is 0", "it must be at least 1"),
            Problem("bad-request", "selectors.slip", "is odd"),
            Problem("bad-request", "label", "already means a run"),
            Problem("wire-type", "node 'agent'", "takes no TEXT"),
        ],
    )
    assert field(told, "workers").problem == "is 0 (it must be at least 1)"
    assert field(told, "panel.slip").problem == "is odd"
    assert field(told, "label").problem == "already means a run"
    assert told.refused[""] == "node 'agent': takes no TEXT"
    again = told.with_value("workers", "2")
    assert not field(again, "workers").problem
    assert field(again, "label").problem


def test_a_clone_asks_for_the_same() -> None:
    before = StartRequest(
        graph_name="toy",
        split="val_seen",
        selectors={"slip": "0.1", "deep": {"a": 1}, "on": True},
        episode_indices=[3, 4, 5, 9],
        worker_count=3,
        seed=11,
        retries=2,
        gpus=["0"],
        priority="low",
        scoring={"graders": []},
        timeout_sec=60.0,
        label="first",
    )
    cloned = form_of(before)
    assert request_of(cloned) == before
    assert "retries 2" in cloned.kept
    assert request_of(cloned.with_value("seed", "12")) == msgspec.structs.replace(before, seed=12)


def test_a_clone_keeps_episodes_with_selectors_of_their_own() -> None:
    own = [{"task_id": "a"}, {"task_id": "b"}]
    before = StartRequest(graph_name="toy", episode_indices=[0, 0], episode_selectors=own)
    assert request_of(form_of(before)) == before
    assert field(form_of(before), "episodes").kind == "told"


def test_another_graph_is_another_request_with_the_label_kept() -> None:
    cloned = form_of(StartRequest(graph_name="toy", retries=2, label="mine"))
    other = cloned.with_graph("gridhouse_follow", {"episodes": "5"})
    assert request_of(other) == StartRequest(graph_name="gridhouse_follow", episode_count=5, label="mine")


def test_how_it_is_scored_stays_with_another_graph_where_it_was_chosen() -> None:
    last = {"scoring": "last.json"}

    def after(before: LaunchForm) -> str | None:
        return before.with_graph("gridhouse_follow", last).values.get("scoring")

    assert after(form(scoring="mine.json")) == "mine.json"
    assert after(form(scoring=NONE)) == NONE
    assert after(form()) == "last.json"
    for scoring in ({"graders": [{"id": "steps"}]}, dict(NOT_SCORED)):
        cloned = form_of(StartRequest(graph_name="toy", scoring=scoring))
        assert after(cloned) == "last.json", "how a run was scored is that run's own"
        assert after(cloned.with_value("scoring", "mine.json")) == "mine.json"


def test_a_played_episode_is_one() -> None:
    played = form_of(StartRequest(graph_name="toy", episode_indices=[7]), "play")
    assert [one.key for one in fields(played)] == [
        "graph",
        "env",
        "episodes",
        "steps",
        "seed",
        "scoring",
        "label",
    ]
    assert request_of(played).episode_indices == [7]
    assert request_of(played.with_value("episodes", "")).episode_indices == [0]


def test_what_is_remembered_is_what_was_typed_but_the_label() -> None:
    assert remembered(form(workers="4", seed="", label="x")) == {"workers": "4"}


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (FITS, "fits now on GPU 1; at most 8 workers would start now"),
        (msgspec.structs.replace(FITS, gpus=[], max_workers=0), "fits now, without a GPU"),
        (  # nothing is known of it yet
            msgspec.structs.replace(FITS, gpus=[], worker_count=3, max_workers=1),
            "fits now, without a GPU",
        ),
        (
            msgspec.structs.replace(FITS, fits=False, waits="needs 40.0 GB; GPU 1 has 37.1 free"),
            "would wait: needs 40.0 GB; GPU 1 has 37.1 free; at most 8 workers would start now",
        ),
        (
            msgspec.structs.replace(FITS, fits=False, refused="needs 200 GB of a card; the largest has 140"),
            "would never start: needs 200 GB of a card; the largest has 140",
        ),
    ],
)
def test_the_estimate_is_told_in_a_sentence(report: EstimateReport, told: str) -> None:
    verdict, figures = estimate_lines(report, fake_gpus())
    assert text_of(verdict) == told
    assert text_of(figures) == (
        "needs 4.1G GPU memory of 58.6G free, 0.9G main memory of 391G free, not all measured"
    )


def test_an_unknown_figure_names_what_is_not_measured() -> None:
    unknown = ResourceEstimate(estimate_mb=None, uncalibrated=["policy", "run"])
    report = msgspec.structs.replace(FITS, resources={"vram": unknown})
    assert "unknown GPU memory (policy, run not yet measured)" in text_of(estimate_lines(report, ())[1])


@pytest.mark.parametrize(
    ("workers", "cores", "told", "ink"),
    [
        (1, 1, "1 worker on 1 CPU core", "dim"),
        (8, 2, "8 workers on 2 CPU cores: they take turns", "warn"),
    ],
)
def test_the_estimate_names_the_cores(workers: int, cores: int, told: str, ink: str) -> None:
    last = estimate_lines(msgspec.structs.replace(FITS, worker_count=workers), fake_gpus(), cores)[-1]
    assert text_of(last) == told
    assert last[0][1] == ink
