"""What Slurm's commands print, read; without Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scheduling.launchers.slurm.commands import (
    Listed,
    Slurm,
    SlurmError,
    SlurmRefusedError,
    SlurmSilentError,
    parse_fields,
    parse_jobs,
    told,
)

TIMES = ["2026-11-29T10:00:00", "2026-11-29T09:00:00"]
LINE = "\x1f".join(["7", "20261129_1", "evaltower:ab", "RUNNING", "None", "n1", "gpu:1", *TIMES, "main"])
UNCONFIGURED = """sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: try again
sbatch: error: fetch_config: DNS SRV lookup failed
sbatch: error: _establish_config_source: failed to fetch config
sbatch: fatal: Could not establish a configuration source"""
SILENT = "Unable to contact slurm controller (connect failure)"
WORD = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=12)


def test_a_line_is_a_job() -> None:
    assert parse_jobs(f"{LINE}\n") == [
        Listed(
            job_id="7",
            name="20261129_1",
            comment="evaltower:ab",
            state="RUNNING",
            nodes="n1",
            gres="gpu:1",
            start="2026-11-29T10:00:00",
            submitted="2026-11-29T09:00:00",
            partition="main",
        )
    ]


def test_what_slurm_has_no_word_for_is_empty() -> None:
    (job,) = parse_jobs(
        LINE.replace("gpu:1", "N/A").replace("2026-11-29T10:00:00", "N/A").replace("\x1fn1\x1f", "\x1f\x1f")
    )
    assert (job.gres, job.start, job.nodes, job.reason) == ("", "", "", "")
    (job,) = parse_jobs(LINE.replace("gpu:1", "(null)"))
    assert job.gres == ""


def test_what_is_no_job_is_left_out() -> None:
    broken = LINE.replace("20261129_1", "a\nb")
    warning = "slurm_load_jobs: warning"
    assert [job.job_id for job in parse_jobs(f"{warning}\n{broken}\n\n{LINE}\n")] == ["7"]


@given(name=WORD, comment=WORD, reason=WORD)
def test_names_are_read_as_they_are(name: str, comment: str, reason: str) -> None:
    fields = LINE.split("\x1f")
    fields[1:3], fields[4] = [name, comment], reason
    (job,) = parse_jobs("\x1f".join(fields))
    assert (job.name, job.comment) == (name, comment)
    assert job.reason == ("" if reason == "None" else reason)


@given(st.text())
def test_nothing_that_is_printed_is_too_odd(output: str) -> None:
    parse_jobs(output)
    parse_fields(output)


def test_fields_may_hold_equal_signs() -> None:
    text = "JobId=7 JobName=x Comment=a=b ReqTRES=cpu=1,mem=2G,gres/gpu=1 alone"
    assert parse_fields(text) == {
        "JobId": "7",
        "JobName": "x",
        "Comment": "a=b",
        "ReqTRES": "cpu=1,mem=2G,gres/gpu=1",
    }


@pytest.mark.parametrize(
    ("command", "output", "kind"),
    [
        ("sbatch", "sbatch: error: Batch job submission failed: Invalid partition name", SlurmRefusedError),
        ("sbatch", f"sbatch: error: Batch job submission failed: {SILENT}", SlurmSilentError),
        ("squeue", f"slurm_load_jobs error: {SILENT}", SlurmSilentError),
        ("squeue", "squeue: error: Invalid user: x", SlurmError),
        ("sbatch", "sbatch: error: Socket timed out on send/recv operation", SlurmSilentError),
        ("sbatch", "", SlurmRefusedError),
        ("sbatch", UNCONFIGURED, SlurmError),
        ("squeue", UNCONFIGURED.replace("sbatch", "squeue"), SlurmError),
    ],
)
def test_silence_is_told_from_refusal(command: str, output: str, kind: type[SlurmError]) -> None:
    error = told(command, output)
    assert type(error) is kind
    assert str(error).startswith(f"{command}: ")
    assert "error: " not in str(error).removeprefix(f"{command}: ")[:7]


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SlurmError, match=f"squeue is not in {tmp_path}.*install Slurm's client, or set"):
        Slurm(str(tmp_path)).jobs()


def test_a_command_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "squeue").write_text("#!/no/such/interpreter\n")
    (tmp_path / "squeue").chmod(0o755)
    with pytest.raises(SlurmError, match="squeue cannot be run"):
        Slurm(str(tmp_path)).jobs()
