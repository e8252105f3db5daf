from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from engine.control.late import LateControl
from engine.control.protocol import Control
from engine.control.reports import ControlError
from tests.fakes.fake_control import FakeControl
from tests.fakes.finished_runs import make_run


def _refuse() -> Control:
    raise ControlError("another backend has the root")


def test_reading_opens_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    control = cast(Control, LateControl(tmp_path, _refuse))
    assert [found.run_id for found in control.runs()] == [run.run_id]
    assert control.show(run.run_id).status == "completed"
    assert len(control.episodes(run.run_id)) == 2


def test_the_first_verb_opens_it_once_whoever_asks(tmp_path: Path) -> None:
    opened: list[FakeControl] = []

    def opener() -> Control:
        opened.append(FakeControl(tmp_path))
        return cast(Control, opened[-1])

    control = cast(Control, LateControl(tmp_path, opener))
    asked: list[Callable[[], object]] = [control.runs] * 2 + [lambda: control.queue()] * 8
    with ThreadPoolExecutor(8) as pool:
        for answer in [pool.submit(each) for each in asked]:
            answer.result()
    control.pause()
    assert [each.calls for each in opened] == [[("pause",)]]


def test_what_could_not_be_opened_is_told_to_each_who_asks(tmp_path: Path) -> None:
    control = cast(Control, LateControl(tmp_path, _refuse))
    for _ in range(2):
        with pytest.raises(ControlError, match="another backend has the root"):
            control.queue()
