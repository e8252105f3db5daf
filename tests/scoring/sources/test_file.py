from __future__ import annotations

from pathlib import Path

import pytest

from engine.scoring.sources import CollectError
from engine.scoring.sources.file import read_events, read_file

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


class TestReadFile:
    def test_a_path_is_one_of_the_episodes_folder(self, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "trace.jsonl").write_text(CALL)
        assert read_file(tmp_path, "in/trace.jsonl") == CALL.encode()

    @pytest.mark.parametrize("path", ["../out.jsonl", "link", "loop", "folder", "gone.jsonl", "a\0b"])
    def test_what_is_elsewhere_or_no_file_is_told(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "out.jsonl").write_text(CALL)
        inside = tmp_path / "ep0000"
        (inside / "folder").mkdir(parents=True)
        (inside / "link").symlink_to(tmp_path / "out.jsonl")
        (inside / "loop").symlink_to(inside / "loop")
        told = {"gone.jsonl": "is no file of the episode's folder"}
        leads_out = "leads out of the episode's folder"
        told |= dict.fromkeys(("../out.jsonl", "link"), leads_out)
        with pytest.raises(CollectError, match=told.get(path, "cannot be read")):
            read_file(inside, path)

    def test_an_absolute_path_is_elsewhere(self, tmp_path: Path) -> None:
        (tmp_path / "out.jsonl").write_text(CALL)
        (tmp_path / "ep0000").mkdir()
        with pytest.raises(CollectError, match="leads out"):
            read_file(tmp_path / "ep0000", str(tmp_path / "out.jsonl"))
