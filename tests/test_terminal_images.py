"""What a terminal is asked about images, and what its answers are taken for."""

from __future__ import annotations

import fcntl
import os
import resource
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.terminal_images import QUESTION, Ability, Answers, Asked, Way, ask, hidden_by, measured, way_of

CELL = "\x1b[6;20;10t"
CASES = [
    (f"\x1b_Gi=4207;OK\x1b\\{CELL}\x1b[?62;22c", Ability(kitty=True, cell=(10, 20), complete=True)),
    (f"{CELL}\x1b[?63;1;2;4;6;9;15;22c", Ability(sixel=True, cell=(10, 20), complete=True)),
    ("\x1b_Gi=4207;ENOTSUPPORTED:no\x1b\\\x1b[?6c", Ability(complete=True)),
    ("\x1b[6;0;0t\x1b[?4;6c", Ability(complete=True)),
]
KEYS = ["j", "q", "\x1b[6~", "\x1b[A", "\x1bOP", "é", "\x1b[?2026;2$y", "\x1b[200~x\x1b[201~", "\x1b[1;5A"]


@given(st.sampled_from(CASES), st.lists(st.sampled_from(KEYS)), st.lists(st.sampled_from(KEYS)), st.data())
def test_answers_are_taken_out_of_what_is_typed_wherever_they_are_cut(
    case: tuple[str, Ability], before: list[str], after: list[str], data: st.DataObject
) -> None:
    said, ability = case
    read = "".join(before) + said + "".join(after)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(read)), max_size=6)))
    answers = Answers()
    pieces = [read[start:end] for start, end in zip([0, *cuts], [*cuts, len(read)], strict=True)]
    left = "".join([answers.take(piece) for piece in pieces])
    assert left + answers.release() == "".join(before + after)
    assert answers.ability == ability


@pytest.mark.parametrize("key", ["\x1b", "\x1b["])
def test_a_key_that_an_answer_could_begin_with_is_given_back(key: str) -> None:
    answers = Answers()
    assert (answers.take(key), answers.release(), answers.release()) == ("", key, "")


@pytest.mark.parametrize(
    ("asked", "ability", "way", "why"),
    [
        ("auto", Ability(kitty=True, sixel=True, cell=(1, 2), complete=True), "kitty", ""),
        ("sixel", Ability(kitty=True, sixel=True, cell=(1, 2), complete=True), "sixel", ""),
        ("auto", Ability(sixel=True, cell=(1, 2), complete=True), "sixel", ""),
        ("auto", Ability(sixel=True, complete=True), None, "does not say how many pixels"),
        ("kitty", Ability(sixel=True, cell=(1, 2), complete=True), None, "kitty's image protocol"),
        ("sixel", Ability(kitty=True, complete=True), None, "does not know sixel"),
        ("auto", Ability(complete=True), None, "neither"),
        ("kitty", Ability(kitty=True), None, "did not say"),
    ],
)
def test_the_way_is_what_was_asked_for_and_is_able(
    asked: Asked, ability: Ability, way: Way | None, why: str
) -> None:
    chosen, reason = way_of(asked, ability)
    assert chosen == way
    assert why in reason
    assert bool(reason) == (way is None)


@pytest.mark.parametrize(
    ("environ", "by"),
    [
        ({"TMUX": "/tmp/tmux,1,0", "TERM": "xterm"}, "tmux"),
        ({"TERM": "tmux-256color"}, "tmux"),
        ({"STY": "1.pts", "TERM": "xterm"}, "screen"),
        ({"TERM": "screen-256color"}, "screen"),
        ({"TERM": "xterm-kitty", "TMUX": ""}, ""),
        ({}, ""),
    ],
)
def test_a_multiplexer_hides_the_terminal(environ: dict[str, str], by: str) -> None:
    assert hidden_by(environ).startswith(f"inside {by}," if by else "")
    assert bool(hidden_by(environ)) == bool(by)


@pytest.mark.parametrize(("said", "ability"), [CASES[0], ("", Ability())])
def test_a_terminal_is_asked_and_not_waited_for_longer_than_it_may_take(said: str, ability: Ability) -> None:
    master, terminal = os.openpty()

    def answer() -> None:
        read = b""
        while QUESTION.encode() not in read:
            read += os.read(master, 1024)
        os.write(master, said.encode())

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        assert ask(terminal, 20.0 if said else 0.1) == ability
    finally:
        thread.join()
        os.close(master)
        os.close(terminal)


def test_a_terminal_may_have_any_descriptor() -> None:
    """Above 1023, where select() ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    master, terminal = os.openpty()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        high = fcntl.fcntl(terminal, fcntl.F_DUPFD, 1100)
        os.close(terminal)
        terminal = high
        assert ask(terminal, 0.1) == Ability()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(master)
        os.close(terminal)


def test_a_size_that_nobody_knows_stays_unknown() -> None:
    master, terminal = os.openpty()
    assert measured(Ability(), terminal).cell is None
    os.close(master)
    os.close(terminal)
