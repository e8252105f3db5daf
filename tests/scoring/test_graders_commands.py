from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine.scoring.context import ComputeUnsupported, NotMeasured
from engine.scoring.graders import shell
from engine.scoring.graders.programs import programs_of
from engine.scoring.graders.shell import oom_kills
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
    assert (score.reason, score.retryable) == ("grader_timeout", False), "the environment is gone by then"


@pytest.mark.parametrize("kind", ["tests-pass", "command", "script-score", "swe-bench", "reward-file"])
@pytest.mark.parametrize(
    "cmd",
    [
        "no-such-tool -q",
        "cd . && X=1 no-such-tool",
        "/no/such/no-such-tool",
        "env X=1 no-such-tool",
        "timeout 5 no-such-tool",
        "bash -c no-such-tool",
        "sh -ec 'cd .; no-such-tool'",
        "bash -lc 'no-such-tool -q'",
        "timeout -k 1 5 bash -o pipefail -c 'echo | no-such-tool'",
        "echo a | xargs -n 1 no-such-tool",
        "nice -n 5 stdbuf -oL no-such-tool",
        "nohup setsid -w no-such-tool > out",
    ],
)
async def test_a_program_that_is_not_there_has_measured_nothing(
    compute: FolderCompute, kind: str, cmd: str
) -> None:
    own = {"fail_to_pass": ["t"]} if kind == "swe-bench" else {}
    score = await one(compute, kind, cmd=cmd, **own)
    assert isinstance(score, Unmeasured)
    assert (score.reason, score.retryable) == ("unsupported", False)
    assert re.match(r"the environment has no program '\S*no-such-tool': install it there", score.detail)


@pytest.mark.parametrize(
    "cmd",
    [
        "./check.sh",
        "checks/no-such-tool",
        "$PWD/check.sh",
        "sh -c ./no-such-tool",
        "timeout 5 ./no-such-tool",
        "PATH=$PWD:$PATH no-such-tool",
        "bash no-such-script",
        "exit 127",
        "true; exit 126",
        "run() { return 127; }; run",
        "python3 -c 'raise SystemExit(127)'",
    ],
)
@pytest.mark.parametrize("kind", ["tests-pass", "command"])
async def test_what_an_episode_may_have_taken_away_fails_it(
    compute: FolderCompute, kind: str, cmd: str
) -> None:
    assert (await number(compute, kind, cmd=cmd))[1:3] == (0.0, False)
    await compute.write_file("check.sh", b"true")  # not executable any more
    assert (await number(compute, kind, cmd=f"{compute.folder}/check.sh"))[1:3] == (0.0, False)


async def test_a_program_that_was_looked_for_in_the_episodes_folder_too_fails_it(
    compute: FolderCompute,
) -> None:
    for folder in (compute.folder / "venv/bin", "venv/bin"):
        env = {"PATH": f"{folder}:{os.environ['PATH']}"}
        assert (await number(compute, "tests-pass", cmd="no-such-tool", env=env))[1:3] == (0.0, False)


async def test_a_patch_without_git_has_measured_nothing(compute: FolderCompute, tmp_path: Path) -> None:
    class WithoutGit(FolderCompute):
        async def exec(self, command: str, **given: Any) -> Any:
            given["env"] = {**(given.get("env") or {}), "PATH": str(bare)}
            return await super().exec(command, **given)

    bare = tmp_path / "elsewhere"
    bare.mkdir()
    (bare / "rm").symlink_to("/bin/rm")
    desk = WithoutGit(tmp_path / "desk")
    score = await one(desk, "command", cmd="true", apply_patch=DIFF)
    assert isinstance(score, Unmeasured)
    assert score.detail.startswith("the environment has no program 'git'")


async def test_a_signal_fails_a_command_unless_the_machine_ran_out_of_memory(
    compute: FolderCompute, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await number(compute, "tests-pass", cmd="sh -c 'kill -SEGV $$'; exit $?"))[1:3] == (0.0, False)
    killed = "sh -c 'kill -KILL $$'; exit $?"
    assert (await number(compute, "tests-pass", cmd=killed))[1:3] == (0.0, False)
    kills = iter(range(9))
    monkeypatch.setattr(shell, "oom_kills", lambda: next(kills))
    score = await one(compute, "tests-pass", cmd=killed)
    assert isinstance(score, Unmeasured)
    assert "the machine ran out of memory" in score.detail
    assert (await number(compute, "tests-pass", cmd="exit 3"))[1:3] == (0.0, False)


def test_what_the_kernel_has_ended_for_want_of_memory_is_counted(tmp_path: Path) -> None:
    counters = tmp_path / "vmstat"
    counters.write_text("nr_free_pages 3\noom_kill 12\noom_kill_other 4\n")
    assert oom_kills(counters) == 12
    counters.write_text("nr_free_pages 3\n")
    assert oom_kills(counters) == 0
    assert oom_kills(tmp_path / "none") == 0


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("make test", ["make"]),
        ("cd repo && A=1 B='x y' pytest -q | tee log; echo done", ["cd", "pytest", "tee", "echo"]),
        ("pip list > out 2>&1\npython3 x.py", ["pip", "python3"]),
        ("if true; then ! node a.js; fi", ["true", "node", "fi"]),
        ("(cd a; time ls) # all", ["cd", "time", "ls"]),
        ("# all of them\nmake test # now\n", ["make"]),
        ("run() { ls; }; run", ["ls"]),
        ("find . -exec ls ';' -print; ./own && $HOME/x", ["find"]),
        ("xvfb-run -a -s '-screen 0 9x9x24' -- make", ["xvfb-run", "make"]),
        ("sudo -nu bob -- /usr/bin/env -i A=1 make -k", ["sudo", "/usr/bin/env", "make"]),
        ("ionice -c2 -n 3 taskset -c 0-3 nice -10 make", ["ionice", "taskset", "nice", "make"]),
        ("xargs -I{} -P 4 sh -c 'pytest {}; \"$X\"' < names", ["xargs", "sh", "pytest"]),
        ("timeout --signal KILL --kill-after=3 5s pytest", ["timeout", "pytest"]),
        ("time -p make; timeout; env -", ["time", "make", "timeout", "env"]),
        ("/bin/bash --norc -euo pipefail -c 'cd a && make'", ["/bin/bash", "cd", "make"]),
        ("bash -x run.sh -c make", ["bash"]),
        ("bash -c 'unfinished \"'; make", ["bash", "make"]),
        ("case $1 in a) ls ;; b) ls ;; esac", []),
        ("python3 - << END\nimport sys\nEND", []),
        ("echo 'a && b' \"c; d\"", ["echo"]),
        ("echo 'unfinished", []),
        ("", []),
    ],
)
def test_the_programs_of_a_command_line(command: str, programs: list[str]) -> None:
    assert programs_of(command) == programs


async def test_a_command_passes_by_what_it_prints_where_that_is_asked(compute: FolderCompute) -> None:
    config = {"cmd": "echo '3 passed' >&2; exit 1", "metric": "own", "id": "mine"}
    assert (await number(compute, "command", **config))[:3] == ("own", 0.0, False)
    assert (await number(compute, "command", **config, pass_pattern=r"\d passed"))[:3] == ("own", 1.0, True)
    assert (await number(compute, "command", cmd="echo nothing", pass_pattern="passed"))[:2] == ("command", 0)


@pytest.mark.parametrize(
    ("kind", "config"),
    [("command", {"pass_pattern": "(x+x+)+y"}), ("script-score", {"pattern": "(x+x+)+y"})],
)
async def test_a_pattern_without_end_is_no_verdict(
    compute: FolderCompute, monkeypatch: pytest.MonkeyPatch, kind: str, config: dict[str, Any]
) -> None:
    monkeypatch.setattr("engine.patterns.DEADLINE_SEC", 0.2)
    score = await one(compute, kind, cmd="printf 'x%.0s' $(seq 5000)", **config)
    assert isinstance(score, Unmeasured)
    assert (score.reason, score.retryable) == ("grader_timeout", False)


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
