"""The runs of a root, as anyone may read them: which there are, which one is meant, and how each stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.store.jsonl import read_records
from engine.store.process_identity import is_alive
from engine.store.records import EpisodeRow, Identity, RunStatus, Spec, SummaryConfig, SummaryHead
from engine.store.rundir import RunDir, RunDirError, runs_folder

LISTED_AT_MOST = 8
"""Runs that an error names."""


class RunNotFoundError(Exception):
    """No run, or more than one, is meant. The message says which there are."""


@dataclass(frozen=True)
class RunView:
    """A run as it stands. ``status``: its summary's, corrected by what is alive. ``spec``: None where it
    cannot be read."""

    run: RunDir
    head: SummaryHead
    status: RunStatus
    spec: Spec | None

    @property
    def label(self) -> str:
        return self.spec.eval.label if self.spec else ""


def list_runs(root: Path) -> list[RunView]:
    """Every run of the root, newest first."""
    return [view_run(run) for run in _run_dirs(root)]


def view_run(run: RunDir) -> RunView:
    """How a run stands. One whose files are missing or broken is listed too, with the reason."""
    # In this order a writer that finishes meanwhile is seen as finished: alive, then _DONE, then its summary.
    can_go_on = is_writer_alive(run)
    settled = run.is_done()
    spec = None
    try:
        spec = run.read_spec()
        head = run.read_summary_head()
    except RunDirError as error:
        config = SummaryConfig(graph_name="")
        broken = SummaryHead(
            run_id=run.run_id, config=config, status="aborted", created_at="", error=str(error)
        )
        return RunView(run, broken, "pending" if can_go_on else "aborted", spec)
    return RunView(run, head, head.status if can_go_on or settled else "aborted", spec)


def is_writer_alive(run: RunDir) -> bool:
    """Whether the process that may write the run's files can be seen alive from here."""
    try:
        process = run.read_job().process
    except RunDirError:
        return False
    return process is not None and is_alive(process)


def find_run(root: Path, wanted: str) -> RunDir:
    """The run that ``wanted`` means: ``last``, an id, a label, or a beginning that only one id has."""
    runs = _run_dirs(root)
    if not runs:
        raise RunNotFoundError(f"there are no runs under {runs_folder(root)}")
    if wanted == "last":
        return runs[0]
    if exact := [run for run in runs if run.run_id == wanted]:
        return exact[0]
    meant: list[RunDir] = []
    if wanted:
        meant = [run for run in runs if _label(run) == wanted]
        meant = meant or [run for run in runs if run.run_id.startswith(wanted)]
    if len(meant) == 1:
        return meant[0]
    named = meant or runs
    listed = ", ".join(run.run_id for run in named[:LISTED_AT_MOST]) + (
        ", …" if len(named) > LISTED_AT_MOST else ""
    )
    if meant:
        raise RunNotFoundError(f"{wanted!r} means more than one run: {listed}")
    raise RunNotFoundError(f"no run is called {wanted!r}; the newest are {listed}")


def read_rows(run: RunDir) -> list[EpisodeRow]:
    """The run's finished episodes that count, in identity order; the last line of an identity wins."""
    rows: dict[Identity, EpisodeRow] = {row.identity: row for row in read_row_lines(run)}
    return [rows[identity] for identity in sorted(rows)]


def read_row_lines(run: RunDir) -> list[EpisodeRow]:
    """Every row that was written of the episodes that count, in that order: several where one ran again."""
    lines = list(read_records(run.episode_rows, EpisodeRow))
    last = {row.identity: row for row in lines}
    return [row for row in lines if not last[row.identity].beyond_stop]


def _run_dirs(root: Path) -> list[RunDir]:
    folder = runs_folder(root)
    if not folder.is_dir():
        return []
    found = [RunDir(path) for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted(found, key=lambda run: _age_key(run.run_id), reverse=True)


def _age_key(run_id: str) -> tuple[str, int, str]:
    stem, number = run_id[:15], run_id[16:]  # YYYYmmdd_HHMMSS, then _2, _3 …
    return stem, int(number) if number.isdigit() else 1, run_id


def _label(run: RunDir) -> str:
    try:
        return run.read_spec().eval.label
    except RunDirError:
        return ""
