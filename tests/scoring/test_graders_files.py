from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.scoring.safe import grade_all
from engine.scoring.spec import ScoringError
from engine.store.scores import Invalid, Measured, Score, Unmeasured
from tests.scoring.compute import FolderCompute
from tests.scoring.making import evidence, grader, measured, said


@pytest.fixture
def compute(tmp_path: Path) -> FolderCompute:
    return FolderCompute(tmp_path)


async def scores_of(compute: FolderCompute, kind: str, /, expected: Any = None, **config: Any) -> list[Score]:
    given = evidence(said("done"), {"diff": "x" * 300_000}, expected)
    return (await grade_all({0: grader(kind, **config)}, given, compute, 60))[0]


async def script(compute: FolderCompute, code: str, **config: Any) -> list[Score]:
    return await scores_of(compute, "script", code=code, **config)


async def test_a_script_reads_what_is_left_of_the_episode_and_its_last_json_is_the_score(
    compute: FolderCompute,
) -> None:
    code = """
import json, sys
given = json.load(open(sys.argv[1]))
print('{"metric": "not this"}')
print("some log")
print(json.dumps([
    {"metric": "size", "value": len(given["snapshot"]["diff"]), "grader_id": "forged"},
    {"metric": "said", "value": 1, "pass": given["trace"][0]["text"] == "done", "label": "gold"},
    {"metric": "unsure", "status": "unmeasured", "reason": "missing_evidence",
     "detail": given["case"]["expected"]},
]))
"""
    scores = await scores_of(compute, "script", expected="nothing", code=code, id="mine")
    assert scores == [
        measured("size", 300_000, grader_id="mine"),
        Measured(grader_id="mine", metric="said", value=1, passed=True, label="gold"),
        Unmeasured(grader_id="mine", metric="unsure", reason="missing_evidence", detail="nothing"),
    ]
    assert not list((compute.folder / ".evaltower").glob("mine*"))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit('broken')", "exit code 1: broken"),
        ("print('no json')", "printed no score"),
        ("print('[]')", "printed no score"),
        ("print('[[90]]')", "printed no score"),
        ('print(\'{"metric": "m"}\')', "is no score"),
        ('print(\'{"metric": "m", "value": "1"}\')', "is no score"),
    ],
)
async def test_a_script_that_gives_no_score_is_an_error(compute: FolderCompute, code: str, told: str) -> None:
    (score,) = await script(compute, code, metrics=["m"])
    assert isinstance(score, Unmeasured)
    assert (score.metric, score.reason, score.retryable) == ("m", "grader_error", False)
    assert told in score.detail
    assert "Error:" not in score.detail, "it is told in words"
    if "exit code" not in told:
        assert '{"metric": "length", "value": 0.5, "pass": true' in score.detail, "and how a score is printed"


async def test_a_score_of_a_script_that_is_none_voids_no_other(compute: FolderCompute) -> None:
    code = """
import json
print(json.dumps([{"metric": "fine", "value": 1, "pass": True}, {"metric": "nan", "value": float("nan")},
    {"metric": "text", "value": "1"}, {"value": 2}, {"metric": "odd", "status": "unheard"}, 3, None]))
"""
    scores = await script(compute, code, metrics=["first", "fine", "nan", "missed"])
    assert [(score.metric, getattr(score, "value", None)) for score in scores] == [
        *(("fine", 1.0), ("nan", None), ("text", None), ("first", None), ("odd", None)),
        *(("first", None), ("first", None), ("missed", None)),
    ]
    assert all("is no score" in scores[place].detail for place in (2, 3, 4, 5, 6))
    assert "is no score: Expected `object`, got `int`: 3" in scores[5].detail
    assert "printed no score of 'missed'" in scores[7].detail


async def test_a_script_scores_each_of_its_metrics_once_and_no_other(compute: FolderCompute) -> None:
    code = """
import json
print(json.dumps([{"metric": "a", "value": 1}, {"metric": "a", "value": 0.5},
    {"metric": "other", "value": 2}]))
"""
    kept, again, other = await script(compute, code, metrics=["a"])
    assert kept == measured("a", 1, grader_id="script")
    assert isinstance(again, Invalid)
    assert (again.metric, again.reason) == ("a", "contract_violation")
    assert again.detail == "the script scored 'a' twice: 0.5 is not counted"
    assert isinstance(other, Invalid)
    assert other.detail == "the script scored 'other', which is none of its metrics: a"
    assert [isinstance(s, Measured) for s in await script(compute, code)] == [True, False, True]


async def test_a_script_decides_the_verdict_only_where_the_request_says_so(compute: FolderCompute) -> None:
    code = 'print(\'{"metric": "tests_pass", "value": 1, "pass": true}\')'
    (refused,) = await script(compute, code)
    assert isinstance(refused, Invalid)
    (kept,) = await script(compute, code, metrics=["tests_pass"])
    assert isinstance(kept, Measured)
    (nan,) = await script(compute, 'print(\'{"metric": "m", "value": NaN}\')')
    assert not isinstance(nan, Measured)


async def test_a_script_that_is_there_already(compute: FolderCompute) -> None:
    code = b'print(\'{"metric": "m", "value": 2}\')'
    await compute.write_file("work/checks/grade it.py", code)
    scores = await scores_of(compute, "script", entrypoint="checks/grade it.py", cwd="work")
    assert scores == [measured("m", 2, grader_id="script")]
    assert (compute.folder / "work/checks/grade it.py").read_bytes() == code


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
async def test_a_script_in_node(compute: FolderCompute) -> None:
    code = """
import { readFileSync } from "fs";
const given = JSON.parse(readFileSync(process.argv[2]));
console.log(JSON.stringify({ metric: "m", value: given.trace.length }));
"""
    assert await script(compute, code, language="node") == [measured("m", 1, grader_id="script")]


async def reward(compute: FolderCompute, test: str, **config: Any) -> list[Score]:
    return await scores_of(compute, "reward-file", files={"test.sh": test, "data/x": "1"}, **config)


async def test_the_reward_is_what_the_verifier_publishes_whatever_its_exit_code(
    compute: FolderCompute,
) -> None:
    (score,) = await reward(compute, 'cat "$TESTS_DIR/data/x" > "$REWARD_DIR/reward.txt"; exit 7')
    assert isinstance(score, Measured)
    assert (score.metric, score.value, score.passed) == ("tests_pass", 1.0, True)
    (low,) = await reward(compute, 'echo 0.5 > "$REWARD_DIR/reward.txt"')
    assert isinstance(low, Measured)
    assert (low.value, low.passed) == (0.5, False)
    (enough,) = await reward(compute, 'echo 0.5 > "$REWARD_DIR/reward.txt"', pass_threshold=0.5)
    assert isinstance(enough, Measured)
    assert enough.passed


async def test_no_reward_is_no_measurement_and_one_of_the_episode_is_none(compute: FolderCompute) -> None:
    await compute.write_file(".evaltower/reward/reward.json", b'{"reward": 1}')
    for test in ("exit 0", 'echo broken > "$REWARD_DIR/reward.json"', 'echo nan > "$REWARD_DIR/reward.txt"'):
        (score,) = await reward(compute, test)
        assert isinstance(score, Unmeasured)
        assert (score.metric, score.reason) == ("tests_pass", "missing_evidence")


async def test_several_rewards_stand_beside_the_one_that_decides(compute: FolderCompute) -> None:
    def publishes(rewards: dict[str, Any]) -> str:
        return (
            f'echo \'{json.dumps(rewards)}\' > "$REWARD_DIR/reward.json"; echo 1 > "$REWARD_DIR/reward.txt"'
        )

    scores = await reward(compute, publishes({"reward": 0, "style": 0.5}))
    assert [(s.metric, s.value, s.passed) for s in scores if isinstance(s, Measured)] == [
        ("tests_pass", 0.0, False),
        ("reward:reward", 0.0, None),
        ("reward:style", 0.5, None),
    ]
    (alone,) = await reward(compute, publishes({"any": 1}))
    assert isinstance(alone, Measured)
    assert (alone.metric, alone.passed) == ("tests_pass", True)
    first, *rest = await reward(compute, publishes({"a": 1, "b": 1}))
    assert isinstance(first, Unmeasured)
    assert (first.reason, len(rest)) == ("unsupported", 2)


@pytest.mark.parametrize(
    "config",
    [
        {"tests_dir": ""},
        {"tests_dir": "."},
        {"tests_dir": "/"},
        {"reward_dir": "a/.."},
        {"reward_dir": "../up"},
        {"files": {"../x": ""}},
        {"files": {"/etc/x": ""}},
        {"files": {"a/../../x": ""}},
        {"files": {".": ""}},
    ],
)
def test_no_folder_but_its_own_is_emptied_or_written_to(config: dict[str, Any]) -> None:
    with pytest.raises(ScoringError):
        grader("reward-file", **config)
