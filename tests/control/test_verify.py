from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engine.control.local import LocalControl
from engine.control.reader import Reader
from engine.control.reports import Difference, StartRequest, VerifyReport
from engine.store.atomic import write_json
from engine.store.environment_record import BatchedRecord, EnvironmentRecord, NodesetRecord
from engine.store.rundir import RunDir
from tests.control.waiting import wait_until_over
from tests.fakes.finished_runs import fake_line, fake_row, make_run


def compare(root: Path, *runs: dict[str, Any]) -> VerifyReport:
    made = [make_run(root, **run).run_id for run in runs]
    return Reader(root).compare_results(made)


def differ(root: Path, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Difference:
    """Runs whose episode 1 differs, with these firings."""
    rows = [fake_row(0), fake_row(1)], [fake_row(0), fake_row(1, trajectory_digest="f" * 32)]
    report = compare(root, {"rows": rows[0], "logs": {1: left}}, {"rows": rows[1], "logs": {1: right}})
    assert report.verdict == "different"
    assert report.difference is not None
    return report.difference


def test_equal_runs_are_the_same_whatever_worker_and_time(tmp_path: Path) -> None:
    other = [fake_row(1, worker_id=1, elapsed_sec=9.0), fake_row(0)]
    report = compare(tmp_path, {}, {"rows": other}, {})
    assert (report.verdict, report.compared, report.difference) == ("same", 2, None)
    assert len({run.result_digest for run in report.runs}) == 1
    assert report.determinism == "exact"


def test_the_first_port_that_differs_is_named(tmp_path: Path) -> None:
    left = [fake_line(0, "reset"), fake_line(1, "step"), fake_line(2, "step")]
    right = [
        fake_line(0, "reset"),
        fake_line(1, "step", outputs={"value": 9}, output_digests={"value": "9"}),
        fake_line(2, "step", output_digests={"value": "8"}),
    ]
    found = differ(tmp_path, left, right)
    assert (found.episode_index, found.step, found.node, found.port) == (1, 1, "step", "value")
    assert (found.what, found.left.split()[0], found.right.split()[0]) == ("output", "1", "9")


def test_another_order_and_another_end_are_named(tmp_path: Path) -> None:
    base = [fake_line(0, "reset"), fake_line(1, "step")]
    found = differ(tmp_path / "a", base, [fake_line(0, "reset"), fake_line(1, "think")])
    assert (found.what, found.step, found.left, found.right) == (
        "firing",
        1,
        "fires step at step 1",
        "fires think at step 1",
    )
    found = differ(tmp_path / "b", base, base[:1])
    assert (found.what, found.step, found.node, found.right) == ("firing", 1, "step", "has ended")
    found = differ(tmp_path / "c", base, [base[0], fake_line(1, "step", error="boom")])
    assert (found.what, found.node, found.right) == ("error", "step", "'boom'")


def test_a_zero_with_another_sign_is_another_result(tmp_path: Path) -> None:
    signed = [fake_row(0, metrics={"success": -0.0}), fake_row(1)]
    found = compare(tmp_path, {}, {"rows": signed}).difference
    assert found is not None
    assert (found.what, found.left, found.right) == ("metrics", "{'success': 0.0}", "{'success': -0.0}")


def test_rows_that_differ_without_a_differing_log(tmp_path: Path) -> None:
    changed = [fake_row(0), fake_row(1, metrics={"success": 0.25})]
    report = compare(tmp_path, {}, {"rows": changed})
    assert report.difference is not None
    assert (report.difference.what, report.difference.episode_index) == ("metrics", 1)
    missing = compare(tmp_path, {}, {"rows": [fake_row(0)]})
    assert missing.difference is not None
    assert (missing.difference.what, missing.difference.right) == ("episode", "is not there")


def run_dir(control: LocalControl, run: str) -> RunDir:
    return RunDir(Path(control.show(run).path))


def asked(run: RunDir, **request: Any) -> str:
    spec = run.read_spec()
    write_json(run.spec, structs.replace(spec, eval=structs.replace(spec.eval, **request)))
    return run.run_id


@pytest.mark.parametrize("order", [1, -1])
def test_runs_of_different_lists_are_compared_by_what_both_have(tmp_path: Path, order: int) -> None:
    few = asked(make_run(tmp_path), episode_count=2)
    more = asked(make_run(tmp_path, rows=[fake_row(0), fake_row(1), fake_row(2)]), episode_count=3)
    report = Reader(tmp_path).compare_results([few, more][::order])
    assert (report.verdict, report.compared, report.difference) == ("undecided", 2, None)
    assert any(
        "asked for different episodes" in note and "1 are in one alone" in note for note in report.notes
    )
    other = asked(make_run(tmp_path, rows=[fake_row(0), fake_row(1, step_count=99)]), episode_count=2)
    found = Reader(tmp_path).compare_results([more, other][::order])
    assert found.verdict == "different"
    assert found.difference is not None
    assert (found.difference.episode_index, found.difference.what) == (1, "step_count")


def test_an_episode_that_the_box_failed_is_left_out_and_leaves_it_open(tmp_path: Path) -> None:
    crash = fake_row(1, status="error", termination="env_crash", error_class="infra", error="exit code 1")
    report = compare(tmp_path, {}, {"rows": [fake_row(0), crash]})
    assert (report.verdict, report.compared, report.difference) == ("undecided", 1, None)
    assert report.runs[1].infra == [1]
    assert any("the box failed episodes 1" in note for note in report.notes)


def test_a_run_that_did_not_complete_proves_nothing(tmp_path: Path) -> None:
    stopped = fake_row(1, status="cancelled", termination="cancelled", step_count=3)
    more = [fake_row(0), fake_row(1), fake_row(2)]
    report = compare(
        tmp_path, {"rows": more}, {"rows": [fake_row(0), stopped], "status": "cancelled", "error": "Ctrl-C"}
    )
    assert (report.verdict, report.compared, report.difference) == ("undecided", 1, None)
    assert any("is cancelled: Ctrl-C" in note for note in report.notes)


def test_different_regimes_and_weak_labels_are_said(tmp_path: Path) -> None:
    def ran(regime: str) -> EnvironmentRecord:
        return EnvironmentRecord(
            run_id="x",
            determinism="seeded",
            nodesets=[NodesetRecord(name="policy_x", determinism="seeded"), NodesetRecord(name="env_x")],
            batched=[BatchedRecord(nodeset="policy_x", tool="policy_x__act", regime=regime)],
        )

    report = compare(tmp_path, {"environment": ran("free")}, {"environment": ran("padded")})
    assert report.determinism == "seeded"
    assert any("not bit-comparable: regime 'free' against 'padded'" in note for note in report.notes)
    assert "policy_x declares determinism seeded" in report.notes


def ran_with(**versions: str) -> EnvironmentRecord:
    carried = {"python": "3.11.7", "aiohttp": str(len(versions))}
    nodesets = [NodesetRecord(name="env_x", versions={**carried, **versions})]
    return EnvironmentRecord(run_id="x", versions={"numpy": "2.0"}, nodesets=nodesets)


def test_other_versions_are_said_to_whoever_compares(tmp_path: Path) -> None:
    old, new = ran_with(mujoco="3.3.0"), ran_with(mujoco="4.0", gymnasium="1.4.0")
    new.run_id = "y"
    runs = [{"environment": old}, {"environment": new}, {"environment": new}]
    made = [make_run(tmp_path, **run).run_id for run in runs]
    told = (
        "env_x of x and y need not come to the same: mujoco 3.3.0 against 4.0,"
        " gymnasium none on record against 1.4.0"
    )
    reader = Reader(tmp_path)
    for notes in (reader.compare_results(made).notes, reader.compare(made).notes):
        assert [note for note in notes if "need not come" in note] == [told]


def test_other_versions_within_a_run_are_said(tmp_path: Path) -> None:
    ran = ran_with(mujoco="3.3.0")
    ran.keep_other_versions(ran_with(mujoco="4.0"))
    ran.keep_other_versions(ran_with(mujoco="4.0"))
    report = compare(tmp_path, {"environment": ran})
    assert "env_x of x ran in parts with other versions: mujoco 3.3.0 and 4.0" in report.notes


def test_verify_runs_each_worker_count_and_tries_failed_episodes_again(control: LocalControl) -> None:
    watched: list[str] = []

    def watch(run: str) -> None:
        wait_until_over(control, run)
        watched.append(run)

    report = control.verify(StartRequest(graph_name="toy", episode_count=2), [1, 3], watch)
    assert report.verdict == "same"
    assert [run.worker_count for run in report.runs] == [1, 3]
    assert [run.run_id for run in report.runs] == watched
    assert [run.summary.config.worker_count for run in reversed(control.runs())] == [1, 3]
    tried = [run_dir(control, run).read_spec().eval.retries for run in watched]
    asked_more = StartRequest(graph_name="toy", episode_count=1, retries=5)
    [more] = control.verify(asked_more, [1], watch).runs
    assert [*tried, run_dir(control, more.run_id).read_spec().eval.retries] == [2, 2, 5]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_run_without_environment_record_weakens_the_label(tmp_path: Path, order: tuple[int, int]) -> None:
    runs = [make_run(tmp_path), make_run(tmp_path)]
    runs[0].environment.unlink()
    report = Reader(tmp_path).compare_results([runs[i].run_id for i in order])
    assert report.determinism == "none"
    assert any("environment.json is not there" in note for note in report.notes)
