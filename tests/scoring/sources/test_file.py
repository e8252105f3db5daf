from __future__ import annotations

from pathlib import Path

import pytest

from engine.scoring.sources import CollectError
from engine.scoring.sources.file import read_events
from tests.scoring.sources.conftest import RUN, MakeSource

CALL = '{"kind": "llm_call", "model": "m"}'


class TestReadEvents:
    @pytest.mark.parametrize(
        "data",
        [
            f"{CALL}\n{CALL}\n",
            f"[{CALL}, {CALL}]",
            f'\ufeff\nno json\n{CALL}\n[1]\n{{"kind": "x"}}\n{{"t\n{CALL}',
        ],
        ids=["lines", "a list", "among broken lines"],
    )
    def test_events_are_read_and_what_is_none_is_left_out(self, data: str) -> None:
        assert [event["model"] for event in read_events(data.encode())] == ["m", "m"]

    def test_one_event_is_a_list_of_it(self) -> None:
        assert read_events(CALL.encode()) == [{"kind": "llm_call", "model": "m"}]

    @pytest.mark.parametrize("data", [b"", b"null", b"\xff\xfe", b"[[[[", b"[" * 100_000])
    def test_nothing_in_it_is_nothing(self, data: bytes) -> None:
        assert read_events(data) == []


class TestFetch:
    async def test_the_path_may_hold_the_run(self, make: MakeSource, tmp_path: Path) -> None:
        (tmp_path / "20260518_143052").mkdir()
        (tmp_path / f"{RUN}.jsonl").write_text(CALL)
        source = make("file", str(tmp_path / "{run_id}.jsonl"))
        assert len(await source.fetch(RUN)) == 1
        assert await source.fetch("20260518_143052/ep0099") == []
        assert (await source.probe()).outcome == "reachable"

    async def test_a_run_cannot_lead_out_of_the_path(self, make: MakeSource, tmp_path: Path) -> None:
        (tmp_path / "out.jsonl").write_text(CALL)
        with pytest.raises(CollectError, match="cannot be part of a path"):
            await make("file", str(tmp_path / "in" / "{run_id}.jsonl")).fetch("../out")

    async def test_what_cannot_be_read_is_an_error(self, make: MakeSource, tmp_path: Path) -> None:
        with pytest.raises(CollectError, match="Is a directory"):
            await make("file", str(tmp_path)).fetch(RUN)

    async def test_a_folder_that_is_not_there_is_unreachable(self, make: MakeSource, tmp_path: Path) -> None:
        assert (await make("file", str(tmp_path / "no" / "{run_id}.json")).probe()).outcome == "unreachable"
