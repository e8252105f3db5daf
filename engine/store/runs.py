"""The runs of a root, as anyone may read them: which there are, which one is meant, and how each stands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from engine.store.backend_lock import live_backend
from engine.store.jsonl import read_records
from engine.store.pending import stand_again
from engine.store.process_identity import is_alive, is_here
from engine.store.records import EndedAs, EpisodeRow, Identity, RunStatus, Spec, SummaryConfig, SummaryHead
from engine.store.run_index import RunIndex
from engine.store.rundir import RUN_ID, RunDir, RunDirError, runs_folder

LISTED_AT_MOST = 8
"""Runs that an error names."""
LOOKED_AT_FOR_NEAR_NAMES = 1000

_NO_SUMMARY = (
    "its rows are in episodes.jsonl, which evaltower show and evaltower export still read, and evaltower"
    " resume {} makes summary.json anew of them"
)
LONGEST_NUMBER = 9
"""Digits of the number in a run's id; what is longer, a caller has made up."""


class RunNotFoundError(Exception):
    """No run, or more than one, is meant. The message says which there are."""


@dataclass(frozen=True)
class RunView:
    """A run as it stands. ``status``: its summary's, corrected by what is alive. ``label``, ``scoring``: its
    spec's. ``spec``: None where it cannot be read, and in a list."""

    run: RunDir
    head: SummaryHead
    status: RunStatus
    label: str = ""
    scoring: Mapping[str, Any] = field(default_factory=dict)
    spec: Spec | None = None


def list_runs(
    root: Path,
    *,
    limit: int | None = None,
    before: str | None = None,
    status: RunStatus | None = None,
    graph: str | None = None,
) -> list[RunView]:
    """The runs of the root, newest first: the first ``limit`` of those that are older than the run
    ``before``, stand as ``status``, and are of ``graph``.

    Finished ones come from the index; of the files of those beyond the last that is listed, none is read.
    """
    folder, names, index = runs_folder(root), run_names(root), RunIndex(root)
    older = names if before is None else [name for name in names if _age(name) < _age(before)]
    found: list[RunView] = []
    for name in older:
        if limit is not None and len(found) >= limit:
            break
        view = _listed(folder, name, index, status, graph)
        if view is not None:
            found.append(view)
    index.save(names)
    return found


def _listed(
    folder: Path, name: str, index: RunIndex, status: RunStatus | None, graph: str | None
) -> RunView | None:
    try:
        entry = index.entry(name)
    except (RunDirError, OSError):
        entry = None  # the reason is in its view
    if entry is not None:
        if status not in (None, entry.status) or graph not in (None, entry.graph_name):
            return None
        row = entry.decode()
        return RunView(RunDir(folder / name), row.head, entry.status, row.label, row.scoring)
    view = view_run(RunDir(folder / name))
    if status not in (None, view.status) or graph not in (None, view.head.config.graph_name):
        return None
    return view if view.run.path.is_dir() else None  # it may have been deleted meanwhile


def view_run(run: RunDir) -> RunView:
    """How a run stands. One whose files are missing or broken is listed too, with the reason."""
    # In this order a writer that finishes meanwhile is seen as finished: alive, then _DONE, then its summary.
    can_go_on = _can_go_on(run)
    spec, wrong = None, ""
    try:
        settled = run.is_done()
        try:
            spec = run.read_spec()
        except RunDirError as error:
            wrong = str(error)
        head = run.read_summary_head()
    except (RunDirError, OSError) as error:
        broken = _without_summary(run, spec, wrong or f"{error}; {_NO_SUMMARY.format(run.run_id)}")
        return _view(run, broken, _status_by_job(run) if can_go_on else "aborted", spec)
    before = None if can_go_on or settled else _before_scoring(run)
    if before is not None:
        stand_again(head, before)
    if wrong and not head.error:
        head.error = wrong
    return _view(run, head, head.status if can_go_on or settled or before else "aborted", spec)


def _before_scoring(run: RunDir) -> EndedAs | None:
    """How a run had ended whose scoring alone was cut short; None of any other."""
    try:
        job = run.read_job()
    except (RunDirError, OSError):
        return None
    return job.ended_as if job.kind == "score" else None


def _without_summary(run: RunDir, spec: Spec | None, error: str) -> SummaryHead:
    return SummaryHead(
        run_id=run.run_id,
        config=SummaryConfig(graph_name=spec.eval.graph_name if spec else ""),
        status="aborted",
        created_at=spec.created_at if spec else "",
        error=error,
    )


def _view(run: RunDir, head: SummaryHead, status: RunStatus, spec: Spec | None) -> RunView:
    if spec is None:
        return RunView(run, head, status)
    return RunView(run, head, status, spec.eval.label, spec.scoring, spec)


def _status_by_job(run: RunDir) -> RunStatus:
    """How a run stands that may go on, where its summary does not tell; one that has ended has no other."""
    try:
        state = run.read_job().state
        return (
            "aborted" if run.is_done() or state == "ended" else "pending" if state == "queued" else "running"
        )
    except (RunDirError, OSError):
        return "aborted"


def _can_go_on(run: RunDir) -> bool:
    """Whether anything may still write the run's files: it waits in the queue, its process can be seen alive
    from here, or a backend that lives has yet to close it off."""
    try:
        job = run.read_job()
    except (RunDirError, OSError):
        return False
    if job.state == "started" and job.cluster is not None:
        return True  # a backend, this one or a later, sees how it ends there
    if job.state == "queued" or (job.process is not None and is_alive(job.process)):
        return True
    return job.process is not None and is_here(job.process) and live_backend(run.root) is not None


def find_run(root: Path, wanted: str) -> RunDir:
    """The run that ``wanted`` means: ``last``, an id, a label, or a beginning that only one id has.

    A whole id is no beginning: that of a run which is gone must not mean its namesake of the same second.
    """
    folder = runs_folder(root)
    if wanted != "last" and is_run_name(wanted) and os.path.isdir(folder / wanted):
        return RunDir(folder / wanted)
    names = run_names(root)
    if not names:
        raise RunNotFoundError(f"there are no runs under {folder}")
    if wanted == "last":
        return RunDir(folder / names[0])
    labels = _labels(root, names) if wanted else {}
    meant = [name for name in names if labels.get(name) == wanted]
    if wanted and not meant and not RUN_ID.fullmatch(wanted):
        meant = [name for name in names if name.startswith(wanted)]
    if len(meant) == 1:
        return RunDir(folder / meant[0])
    if meant:
        raise RunNotFoundError(f"{wanted!r} means more than one run: {_named(meant)}")
    known = [*names[:LOOKED_AT_FOR_NEAR_NAMES], *dict.fromkeys(labels.values())]
    near = ", ".join(get_close_matches(wanted, known, n=3, cutoff=0.7))
    raise RunNotFoundError(
        f"no run is called {wanted!r}; " + (f"near: {near}" if near else f"the newest are {_named(names)}")
    )


def is_run_name(text: str) -> bool:
    """Whether it can be the name of a run's folder; no path can."""
    return bool(text) and not text.startswith(".") and "/" not in text and "\0" not in text


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:LISTED_AT_MOST]) + (", …" if len(names) > LISTED_AT_MOST else "")


def _labels(root: Path, names: Sequence[str]) -> dict[str, str]:
    """Run id → label, of the runs that have one."""
    folder, index, labels = runs_folder(root), RunIndex(root), {}
    for name in names:
        try:
            entry = index.entry(name)
            label = entry.label if entry is not None else RunDir(folder / name).read_spec().eval.label
        except (RunDirError, OSError):
            continue
        if label:
            labels[name] = label
    index.save(names)
    return labels


def read_rows(run: RunDir) -> list[EpisodeRow]:
    """The run's finished episodes that count, in identity order; the last line of an identity wins."""
    rows: dict[Identity, EpisodeRow] = {row.identity: row for row in read_row_lines(run)}
    return [rows[identity] for identity in sorted(rows)]


def read_row_lines(run: RunDir) -> list[EpisodeRow]:
    """Every row that was written of the episodes that count, in that order: several where one ran again."""
    lines = list(read_records(run.episode_rows, EpisodeRow))
    last = {row.identity: row for row in lines}
    return [row for row in lines if not last[row.identity].beyond_stop]


def run_names(root: Path) -> list[str]:
    """The names of the root's runs, newest first. Opens none of them."""
    try:
        with os.scandir(runs_folder(root)) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(names, key=_age, reverse=True)


def _age(run_id: str) -> tuple[str, int, str]:
    stem, number = run_id[:15], run_id[16:]  # YYYYmmdd_HHMMSS, then _2, _3 …
    told = number.isdecimal() and len(number) <= LONGEST_NUMBER
    return stem, int(number) if told else 1, run_id
