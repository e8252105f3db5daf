"""What cases env_workspace reads, and what is said of those that it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.nodesets.workspace_player import NODESET, Desk, desk, write_cases

CASE = {"id": "a", "instruction": "mend it"}
ROW = {
    "instance_id": "owner__name-1",
    "repo": "owner/name",
    "base_commit": "abc",
    "problem_statement": "it is broken",
    "hints_text": "",
    "patch": "the gold patch",
    "test_patch": "the tests",
    "FAIL_TO_PASS": '["t1"]',
    "PASS_TO_PASS": ["t2"],
}


def cases_in(place: Path | str) -> dict[str, list[Any]]:
    import sys

    read: dict[str, list[Any]] = sys.modules[type(Desk().nodeset).__module__].read_splits(str(place))
    return read


def written(folder: Path, text: str, name: str = "cases.json") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def test_folders_below_are_splits_and_what_lies_beside_them_is_the_default(tmp_path: Path) -> None:
    written(tmp_path, json.dumps(CASE), "one.json")
    written(tmp_path, "".join(json.dumps({**CASE, "id": name}) + "\n\n" for name in "bc"), "test/x.jsonl")
    written(tmp_path, json.dumps([{**CASE, "id": "d"}]), "test/y.json")
    written(tmp_path, "no case", "test/readme.md")
    written(tmp_path, "no case", ".cache/x.json")
    found = {split: [case.case_id for case in cases] for split, cases in cases_in(tmp_path).items()}
    assert found == {"default": ["a"], "test": ["b", "c", "d"]}
    assert [case.case_id for case in cases_in(tmp_path / "one.json")["default"]] == ["a"]


def test_swe_bench_rows_are_cases(tmp_path: Path) -> None:
    (case,) = cases_in(written(tmp_path, json.dumps(ROW), "swe.jsonl"))["default"]
    assert (case.case_id, case.instruction) == ("owner__name-1", "it is broken")
    assert case.repo == {"url": "https://github.com/owner/name.git", "commit": "abc"}
    assert case.expected == {"test_patch": "the tests", "fail_to_pass": ["t1"], "pass_to_pass": ["t2"]}
    assert case.params == {"gold_patch": "the gold patch"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "cases.json: not JSON"),
        ("3", "cases.json: a case is an object, not int"),
        ('[{"id": "a"}]', "cases.json case 0: a case needs 'instruction'"),
        (json.dumps({**CASE, "file": {}}), "no field 'file'; do you mean files?"),
        (json.dumps({**CASE, "colour": 1}), "no field 'colour'; a case has id, instruction"),
        (json.dumps({**CASE, "files": {"a": 1}}), "files must be an object of texts by path"),
        (json.dumps({**CASE, "repo": {"url": "x"}}), 'repo must be an object {"url", "commit"}'),
        (json.dumps({**CASE, "timeout_sec": 0}), "timeout_sec must be seconds above 0, not 0"),
        (json.dumps([CASE, CASE]), "'a' is in split default twice"),
        (json.dumps({**ROW, "FAIL_TO_PASS": "t1"}), "FAIL_TO_PASS must be a list of test names"),
        ("[]", "holds no case"),
    ],
)
async def test_what_is_wrong_is_said_with_the_file_and_the_case(
    tmp_path: Path, text: str, error: str
) -> None:
    async with desk() as player:
        answer = await player.choose(written(tmp_path, text))
    assert answer["ok"] is False
    assert error in answer["error"]
    assert str(tmp_path) in answer["error"] or "twice" in error


async def test_what_cannot_be_chosen_is_said_with_what_there_is(tmp_path: Path) -> None:
    cases = write_cases(tmp_path, {}, {})
    async with desk() as player:
        for selectors, error in (
            ({"index": 2}, "episode_index 2 is not in default, which has 0 to 1"),
            ({"index": 0.5}, "episode_index 0.5 is not a whole number"),
            ({"index": "one"}, "episode_index 'one' is not a number"),
            ({"split": "dev"}, "split 'dev' does not exist; the splits are default"),
        ):
            assert (await player.choose(cases, **selectors)) == {"ok": False, "error": error}
        answer = await player.choose(tmp_path / "gone")
        assert f"there is no {tmp_path / 'gone'}" in answer["error"]


async def test_metadata_is_of_the_cases_that_are_selected(tmp_path: Path) -> None:
    async with desk() as player:
        built_in = await player.nodeset.get_eval_metadata()
        assert built_in["episode_counts"] == {"issues": 4, "questions": 3}
        await player.panel.on_field_change("cases", str(write_cases(tmp_path, {}, {})))
        assert (await player.nodeset.get_eval_metadata())["episode_counts"] == {"default": 2}
        assert await player.panel.get_options("split") == [{"value": "default", "label": "default"}]


def test_beside_every_graph_lies_how_it_is_scored() -> None:
    graphs = {file.name.split(".")[0] for file in (NODESET / "graphs").iterdir()}
    assert graphs
    for name in graphs:
        assert (NODESET / "graphs" / f"{name}.json").is_file()
        scoring = json.loads((NODESET / "graphs" / f"{name}.scoring.json").read_text("utf-8"))
        assert scoring["graders"]


async def test_nothing_selected_for_one_episode_is_left_over_for_the_next(tmp_path: Path) -> None:
    async with desk() as player:
        await player.choose("", split="questions", command="echo theirs", model="big")
        await player.choose(write_cases(tmp_path, {}))
        assert (await player.panel.on_load())["current_episode"]["episode_id"] == "case_0"
        assert (await player.harness("echo ours"))["response"] == "ours\n"
