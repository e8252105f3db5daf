"""Where two runs of the same thing part: the first episode, step, node and port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from engine.control.look import folder_of, read_log
from engine.control.reports import Difference
from engine.store.digest import digest_part
from engine.store.records import EpisodeRow, Identity
from engine.store.rundir import RunDir
from engine.store.runs import RunView, read_rows, view_run

SHOWN = 120
"""Characters of a value in a difference."""


class _Found(NamedTuple):
    what: str
    left: str
    right: str
    port: str | None = None


class Rows:
    """A run's finished episodes. ``view``: how the run stands."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self.view = view_run(run)
        self.by_identity: dict[Identity, EpisodeRow] = {row.identity: row for row in read_rows(run)}

    def same_list(self, other: Rows) -> bool:
        """Whether both were asked for the same episodes."""
        return _asked(self.view) == _asked(other.view)

    @property
    def infra(self) -> list[Identity]:
        """Episodes that the box failed."""
        return [identity for identity, row in self.by_identity.items() if row.error_class == "infra"]

    @property
    def measured(self) -> set[Identity]:
        """Episodes that say something about results: neither failed by the box nor cancelled."""
        cancelled = {identity for identity, row in self.by_identity.items() if row.status == "cancelled"}
        return self.by_identity.keys() - cancelled - set(self.infra)

    def log_of(self, row: EpisodeRow) -> Iterator[dict[str, Any]]:
        return read_log(self.run, folder_of(self.run, row), follow=False)


def first_difference(left: Rows, right: Rows) -> Difference | None:
    """The first difference in identity order, or None; only among episodes that both runs measured.

    An episode that only one has is a difference where both runs completed that were asked for the same ones.
    """
    for identity in sorted(left.measured & right.measured):
        mine, other = left.by_identity[identity], right.by_identity[identity]
        if digest_part(mine) != digest_part(other):
            line, found = _in_logs(left.log_of(mine), right.log_of(other)) or (None, _in_rows(mine, other))
            return _difference(left, right, identity, found, line)
    if left.view.status == right.view.status == "completed" and left.same_list(right):
        for identity in sorted(left.by_identity.keys() ^ right.by_identity.keys()):
            here, gone = "is there", "is not there"
            told = (here, gone) if identity in left.by_identity else (gone, here)
            return _difference(left, right, identity, _Found("episode", *told))
    return None


def _asked(view: RunView) -> tuple[Any, ...]:
    """What makes the list of a run's episodes."""
    if view.spec is None:
        config = view.head.config
        return config.episode_count, config.episode_selectors, config.selectors, config.repeats
    asked = view.spec.eval
    listed = asked.episode_indices, asked.episode_count, asked.episode_selectors, asked.selectors
    return *listed, asked.dataset, asked.split, asked.repeats, asked.until_width, asked.until_metric


def _in_logs(
    left: Iterator[dict[str, Any]], right: Iterator[dict[str, Any]]
) -> tuple[dict[str, Any] | None, _Found] | None:
    """The first firing that differs, and how."""
    for mine, other in zip_longest(left, right):
        found = _between_lines(mine, other)
        if found is not None:
            return mine or other, found
    return None


def _between_lines(left: dict[str, Any] | None, right: dict[str, Any] | None) -> _Found | None:
    """What differs between two firings of the same place; a None has ended before."""
    if left is None or right is None or _firing(left) != _firing(right):
        return _Found("firing", _firing(left), _firing(right))
    mine, other = _digests(left), _digests(right)
    for port in sorted(mine.keys() | other.keys()):
        if mine.get(port) != other.get(port):
            return _Found("output", _output(left, port), _output(right, port), port)
    if left.get("error") != right.get("error"):
        return _Found("error", _short(left.get("error")), _short(right.get("error")))
    return None


def _in_rows(left: EpisodeRow, right: EpisodeRow) -> _Found:
    parts = ("status", "step_count", "trajectory_digest")
    what = next((part for part in parts if getattr(left, part) != getattr(right, part)), "metrics")
    return _Found(what, _short(getattr(left, what)), _short(getattr(right, what)))


def _difference(
    left: Rows, right: Rows, identity: Identity, found: _Found, line: Mapping[str, Any] | None = None
) -> Difference:
    index, selectors, repeat = identity
    name = str(index) + (f" {selectors}" if selectors != "{}" else "")
    return Difference(
        left_run=left.run.run_id,
        right_run=right.run.run_id,
        episode_index=index,
        episode=name + (f" repeat {repeat}" if repeat > 1 else ""),
        what=found.what,
        left=found.left,
        right=found.right,
        step=line["step"] if line else None,
        node=line["node_id"] if line else None,
        port=found.port,
    )


def _digests(line: Mapping[str, Any]) -> dict[str, str]:
    return line.get("output_digests") or {}


def _output(line: Mapping[str, Any], port: str) -> str:
    if port not in _digests(line):
        return "not emitted"
    return f"{_short(line['outputs'].get(port))} (digest {_digests(line)[port]})"


def _firing(line: Mapping[str, Any] | None) -> str:
    return f"fires {line['node_id']} at step {line['step']}" if line else "has ended"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
