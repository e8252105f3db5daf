from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine.scoring.context import ComputeUnsupported, NotMeasured
from engine.scoring.safe import grade_all
from engine.store.scores import Measured, Score, Unmeasured
from tests.scoring.compute import FolderCompute
from tests.scoring.making import evidence, grader


@pytest.fixture
def compute(tmp_path: Path) -> FolderCompute:
    return FolderCompute(tmp_path)


async def one(compute: FolderCompute, kind: str, /, expected: Any = None, **config: Any) -> Score:
    (score,) = (await grade_all({0: grader(kind, **config)}, evidence(expected=expected), compute, 60))[0]
    return score


async def number(compute: FolderCompute, kind: str, /, **config: Any) -> tuple[str, float, bool | None, str]:
    score = await one(compute, kind, **config)
    assert isinstance(score, Measured), score
    return score.metric, score.value, score.passed, score.detail or ""


@pytest.mark.parametrize("kind", ["tests-pass", "command", "script-score", "swe-bench", "reward-file"])
async def test_without_an_environment_there_is_no_score(kind: str) -> None:
    made = grader(kind, **({"fail_to_pass": ["t"]} if kind == "swe-bench" else {"cmd": "true"}))
    assert made.needs_compute
    with pytest.raises(ComputeUnsupported):
        await made.grade(evidence(), None)


async def test_tests_pass_by_their_exit_code_in_their_folder(compute: FolderCompute) -> None:
    await compute.write_file("work/kept.txt", b"")
    config = {"cwd": "work", "env": {"WHICH": "kept"}}
    assert await number(compute, "tests-pass", cmd="ls $WHICH.txt", **config) == (
        "tests_pass", 1.0, True, "kept.txt\n",
    )  # fmt: skip
    metric, value, passed, said = await number(compute, "tests-pass", cmd="echo out; echo err >&2; exit 3")
    assert (metric, value, passed, said) == ("tests_pass", 0.0, False, "out\nerr\n")
    long = await number(compute, "tests-pass", cmd="head -c 9999 /dev/zero | tr '\\0' x; exit 1")
    assert len(long[3]) == 2000


async def test_a_case_may_say_what_the_config_leaves_open(compute: FolderCompute) -> None:
    case = {"cmd": "exit 1", "id": "another", "metric": "state"}
    score = await one(compute, "command", expected=case)
    assert isinstance(score, Measured)
    assert (score.grader_id, score.metric, score.value) == ("command", "command", 0.0)
    given = await one(compute, "command", expected=case, cmd="true")
    assert isinstance(given, Measured)
    assert given.value == 1
    wrong = await one(compute, "command", expected={"cmd": 3})
    assert isinstance(wrong, Unmeasured)
    assert wrong.detail == "the case's expected.cmd must be text, not a whole number"


async def test_no_command_is_no_measurement(compute: FolderCompute) -> None:
    score = await one(compute, "tests-pass")
    assert isinstance(score, Unmeasured)
    assert (score.reason, score.retryable) == ("missing_evidence", False)


async def test_the_clock_decides_no_verdict(compute: FolderCompute) -> None:
    score = await one(compute, "tests-pass", cmd="sleep 60", timeout_sec=0.2)
    assert isinstance(score, Unmeasured)
    assert (score.reason, score.retryable) == ("grader_timeout", True)


async def test_a_command_passes_by_what_it_prints_where_that_is_asked(compute: FolderCompute) -> None:
    config = {"cmd": "echo '3 passed' >&2; exit 1", "metric": "own", "id": "mine"}
    assert (await number(compute, "command", **config))[:3] == ("own", 0.0, False)
    assert (await number(compute, "command", **config, pass_pattern=r"\d passed"))[:3] == ("own", 1.0, True)
    assert (await number(compute, "command", cmd="echo nothing", pass_pattern="passed"))[:2] == ("command", 0)


DIFF = """--- a/greeting.txt
+++ b/greeting.txt
@@ -1 +1 @@
-hello
+goodbye
"""


async def test_a_command_sees_the_patch_that_is_applied_first(compute: FolderCompute) -> None:
    await compute.write_file("greeting.txt", b"hello\n")
    config = {"cmd": "grep -q goodbye greeting.txt", "apply_patch": DIFF}
    assert (await number(compute, "command", **config))[:3] == ("command", 1.0, True)
    assert not list(compute.folder.rglob("*.patch"))
    again = await number(compute, "command", **config)
    assert again[:3] == ("command", 0.0, False)
    assert again[3].startswith("apply_patch failed: ")


async def test_a_script_score_is_the_number_it_prints(compute: FolderCompute) -> None:
    assert (await number(compute, "script-score", cmd="echo SCORE=0.75"))[:3] == ("score", 0.75, True)
    assert (await number(compute, "script-score", cmd="echo SCORE=0.5; exit 2"))[:3] == ("score", 0.5, False)
    config = {"pattern": "f1: ([0-9.]+)", "pass_threshold": 0.4, "metric": "f1"}
    assert (await number(compute, "script-score", cmd="echo f1: 0.5", **config))[:3] == ("f1", 0.5, True)
    assert (await number(compute, "script-score", cmd="echo SCORE=1e-05"))[:3] == ("score", 1e-05, False)
    for nothing in (
        "echo none",
        "echo SCORE=1e999",
        "echo SCORE=1,000",
        "echo SCORE=1.2.3",
        "echo SCORE=--",
        "echo SCORE=nan",
        "exit 3",
    ):
        score = await one(compute, "script-score", cmd=nothing)
        assert isinstance(score, Unmeasured)
        assert "nothing that it printed is a number" in score.detail


TEST_PATCH = """--- /dev/null
+++ b/test_double.sh
@@ -0,0 +1,5 @@
+. ./double.sh
+case $1 in
+    mends) [ "$(double 2)" = 4 ] ;;
+    keeps) [ "$(double 0)" = 0 ] ;;
+esac
"""
RUNS = 'run() { for t in "$@"; do sh test_double.sh $t || exit 1; done; }; run'


async def repository(compute: FolderCompute, body: str) -> None:
    await compute.write_file("double.sh", f"double() {{ echo {body}; }}\n".encode())
    subprocess.run(["git", "init", "-q"], cwd=compute.folder, check=True)


@pytest.mark.parametrize(("body", "resolved"), [("$(($1 * 2))", True), ("$(($1 * 3))", False), ("4", False)])
async def test_a_swe_bench_case_is_resolved_when_what_was_broken_and_what_was_not_pass(
    compute: FolderCompute, body: str, resolved: bool
) -> None:
    await repository(compute, body)
    case = {"test_patch": TEST_PATCH, "FAIL_TO_PASS": '["mends"]', "PASS_TO_PASS": ["keeps"]}
    score = await one(compute, "swe-bench", expected=case, cmd=RUNS)
    assert isinstance(score, Measured)
    assert (score.metric, score.value, score.passed) == ("resolved", float(resolved), resolved)
    assert score.detail.startswith("1 to mend, 1 to keep\n")


async def test_a_test_patch_that_does_not_apply_fails_and_no_tests_are_no_measurement(
    compute: FolderCompute,
) -> None:
    await repository(compute, "1")
    await compute.write_file("test_double.sh", b"mine\n")
    refused = await one(compute, "swe-bench", test_patch=TEST_PATCH, fail_to_pass=["mends"], cmd=RUNS)
    assert isinstance(refused, Measured)
    assert (refused.value, refused.passed) == (0.0, False)
    assert refused.detail.startswith("test_patch does not apply: ")
    none = await one(compute, "swe-bench", test_patch=TEST_PATCH)
    assert isinstance(none, Unmeasured)
    assert none.reason == "missing_evidence"


async def test_a_test_name_is_one_word_for_the_shell(compute: FolderCompute) -> None:
    name = "test_x.py::test[a b; touch broken]"
    score = await one(compute, "swe-bench", fail_to_pass=[name], cmd="printf '%s\\n'")
    assert isinstance(score, Measured)
    assert score.detail == f"1 to mend, 0 to keep\n{name}\n"
    assert not (compute.folder / "broken").exists()


async def test_git_that_takes_too_long_is_no_verdict(compute: FolderCompute) -> None:
    class Slow(FolderCompute):
        async def exec(self, command: str, **given: Any) -> Any:
            return await super().exec("sleep 60", **{**given, "timeout_sec": 0.1})

    with pytest.raises(NotMeasured) as raised:
        await grader("command", apply_patch=DIFF, cmd="true").grade(evidence(), Slow(compute.folder))
    assert raised.value.reason == "grader_timeout"
