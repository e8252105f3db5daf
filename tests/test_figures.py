"""What is counted is written with its noun, one or many, wherever it is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.cli.progress import Pace, describe
from engine.control.outline import Outline
from engine.figures import count, noun
from engine.statistics.budget import headline
from tests.fakes.control import fake_report
from tests.fakes.finished_runs import fake_row
from tui.clipboard import Copied
from tui.episode.inks import cut_lines, inked, text_of
from tui.episode.values import bytes_text
from tui.graph_lines import about_lines
from tui.panes.lane_lines import _row_text


def test_a_noun_is_as_many_as_it_counts() -> None:
    assert [count(n, "episode") for n in (0, 1, 2)] == ["0 episodes", "1 episode", "2 episodes"]
    assert [noun(n, "pair") for n in (0, 1, 2)] == ["pairs", "pair", "pairs"]


def _outline(n: int) -> str:
    graph = Outline(name="g", description="", step_budget=n, nodes=(), loops={}, notes=())
    return "\n".join(map(text_of, about_lines(graph)))


def _withheld(n: int) -> str:
    return str(headline([fake_row(i, status="error", metrics={}) for i in range(n)], "success").withheld)


@pytest.mark.parametrize(
    ("told", "one", "many"),
    [
        (lambda n: describe(fake_report("r", "running", total=n), Pace()), "/1 episode ", "/3 episodes "),
        (_outline, "at most 1 step", "at most 3 steps"),
        (_withheld, "1 of 1 episode gave", "3 of 3 episodes gave"),
        (lambda n: str(Copied("file", n)), "1 character written", "3 characters written"),
        (lambda n: text_of(cut_lines([inked("x")] * (n + 1), 1, "{}")[-1]), "1 more line", "3 more lines"),
        (bytes_text, "1 byte", "3 bytes"),
        (lambda n: _row_text(fake_row(0, step_count=n)), "1 step ", "3 steps "),
    ],
)
def test_sentences_of_every_interface_keep_to_it(told: Callable[[int], str], one: str, many: str) -> None:
    assert one in f"{told(1)} "
    assert f"{one.rstrip()}s" not in told(1)
    assert many in f"{told(3)} "
