"""The shards of a run become the run: their rows, their numbers and their progress, as one machine has them.

Rows pass on as lines, byte for byte, and a line that the run has is never taken over again: what the run was
given since, as by scoring it again, stands. Only the backend calls this, under the run's current attempt; and
once more before each further attempt of a shard, which goes on from what the run has.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.scheduling.launchers.closing import Fold
from engine.store.atomic import write_bytes
from engine.store.attempts import LOGS
from engine.store.digest import result_digest
from engine.store.environment_record import EnvironmentRecord
from engine.store.jsonl import LineAppender, read_with_lines
from engine.store.pending import pending_summary
from engine.store.records import (
    EpisodeRow,
    EvalRequest,
    Identity,
    Progress,
    RunStatus,
    Summary,
    SummaryHead,
    now_iso,
)
from engine.store.rundir import RunDir, RunDirError, read_json
from engine.store.scores import ScoringTally
from engine.store.strict_json import encode_indented

T = TypeVar("T")
log = logging.getLogger(__name__)


class Merger:
    """The run that ``shards`` shards make. Use it in one thread; the next backend makes its own.

    ``fold``: makes the numbers of rows. Its methods raise OSError; what was not done by then is done the next
    time. So is what waits for a spec.json that can be read, which is logged.
    """

    def __init__(self, run: RunDir, shards: int, fold: Fold) -> None:
        self._run = run
        self._shards = [RunDir(run.path, number) for number in range(shards)]
        self._fold = fold
        self._rows = _Rows(run.episode_rows)
        self._tails = [_Tail(shard.episode_rows) for shard in self._shards]
        self._heads: dict[RunDir, SummaryHead] = {}
        self._scored: ScoringTally | None = None
        self._seen: dict[Path, tuple[int, ...]] = {}

    def gather(self, status: RunStatus = "running") -> None:
        """Take over what the shards have written since. A run that is done is left as it is.

        ``status``: ``pending`` while none of its shards has begun its attempt.
        """
        if self._run.is_done():
            return
        self._list()
        try:
            came = self._rows.take([tail for tail in self._tails if self._is_new(tail.path)])
            ended = [shard for shard in self._shards if self._is_new(shard.summary)]
            self._read_heads(ended)
            if self._heads and (came or ended):
                _replace(self._run.summary, self._summary(status, None, None))
            self._gather_files()
            self._link_logs()
        except RunDirError as error:
            self._seen.clear()
            log.error("what the shards of %s have written waits: %s", self._run.run_id, error)
        except BaseException:
            self._seen.clear()
            raise

    def finish(self, status: RunStatus, error: str | None) -> None:
        """Write how the run ended and, unless it is ``aborted``, ``_DONE``. No process of it writes by now.

        A run whose spec.json cannot be read is left as it is: whoever reads it is told.
        """
        if self._run.is_done():
            return
        self._list()
        self._seen.clear()
        self._rows.take(self._tails)
        self._read_heads(self._shards)
        try:
            summary = self._summary(status, error, now_iso())
            self._gather_files()
        except RunDirError as problem:
            log.error("%s cannot be closed off: %s", self._run.run_id, problem)
            return
        self._link_logs(ended=True)
        _replace(self._run.summary, summary)
        if status != "aborted":
            self._run.mark_done()
        self._rows = _Rows(self._run.episode_rows)  # it may be scored again before anybody resumes it

    def outcome(self) -> tuple[RunStatus, str | None] | None:
        """How a run ends whose shards have all ended by themselves; None while one of them has not."""
        if not all(shard.is_done() for shard in self._shards):
            return None
        self._heads.clear()
        self._read_heads(self._shards)
        statuses = set()
        for shard in self._shards:
            head = self._heads.get(shard)
            if head is None:
                return "error", f"shard {shard.shard}: {shard.summary} cannot be read"
            if head.status not in ("completed", "cancelled"):
                return "error", f"shard {shard.shard}: {head.error or f'it is {head.status}'}"
            statuses.add(head.status)
        return ("cancelled" if "cancelled" in statuses else "completed"), None

    def _list(self) -> None:
        """Until a folder is listed, a shared file system may go on saying that a file is not there."""
        for shard in self._shards:
            with suppress(FileNotFoundError):
                os.listdir(shard.own)

    def _read_heads(self, shards: Iterable[RunDir]) -> None:
        for shard in shards:
            if (head := _readable(shard.summary, SummaryHead)) is not None:
                self._heads[shard] = head

    def _summary(self, status: RunStatus, error: str | None, finished_at: str | None) -> Summary:
        spec = self._run.read_spec()
        heads = [self._heads[shard] for shard in self._shards if shard in self._heads]
        before = _readable(self._run.summary, SummaryHead) or pending_summary(spec)
        begun = [head.started_at for head in (before, *heads) if head.started_at]
        planned = sum(head.total_episodes for head in heads)
        summary = Summary(
            run_id=self._run.run_id,
            config=next((head.config for head in heads if head.total_episodes), before.config),
            status=status,
            error=error,
            created_at=before.created_at,
            started_at=min(begun, default=None),
            finished_at=finished_at,
            total_episodes=planned and (_asked(spec.eval) or planned),
            elapsed_sec=max((head.elapsed_sec for head in heads), default=0.0),
        )
        self._fold(summary, self._rows.that_count())
        self._scored = summary.scored
        if finished_at is not None:
            summary.result_digest = result_digest(summary.episodes)
        return summary

    def _gather_files(self) -> None:
        if self._any_is_new([shard.progress for shard in self._shards]):
            self._write_progress()
        if self._any_is_new([shard.environment for shard in self._shards]):
            self._write_environment()
        if self._any_is_new([shard.graph for shard in self._shards]):
            spec = self._run.read_spec()
            _replace(self._run.graph, spec.graph)
            if spec.scoring:
                _replace(self._run.scoring, spec.scoring)

    def _write_progress(self) -> None:
        """Each shard numbers its workers from its own first one on."""
        parts = self._parts([shard.progress for shard in self._shards], Progress)
        if parts:
            merged = Progress(
                run_id=self._run.run_id,
                updated_at=max(part.updated_at for part in parts),
                activity="; ".join(dict.fromkeys(part.activity for part in parts if part.activity)),
                workers=[worker for part in parts for worker in part.workers],
                scoring=[waits for part in parts for waits in part.scoring],
                scored=self._scored,
            )
            _replace(self._run.progress, merged, durable=False)

    def _write_environment(self) -> None:
        """That of the first shard, with what ran otherwise in others: their rows do not compare."""
        parts = self._parts([shard.environment for shard in self._shards], EnvironmentRecord)
        if parts:
            merged, *others = parts
            for part in others:
                merged.batched += [record for record in part.batched if record not in merged.batched]
                merged.keep_other_versions(part)
            _replace(self._run.environment, merged)

    def _link_logs(self, *, ended: bool = False) -> None:
        """The run's logs are those of the shard that has the most to tell: the first that went wrong."""
        wrong = [shard for shard in self._shards if self._went_wrong(shard, ended)]
        shard = (wrong or self._shards)[0]
        for name in LOGS:
            link, there = self._run.path / name, shard.own / name
            target = os.path.relpath(there, self._run.path)
            if there.exists() and not (link.is_symlink() and os.readlink(link) == target):
                made = link.with_name(f".{name}.link")
                made.unlink(missing_ok=True)
                made.symlink_to(target)
                os.replace(made, link)

    def _went_wrong(self, shard: RunDir, ended: bool) -> bool:
        head = self._heads.get(shard)
        if head is not None and head.status in ("error", "aborted"):
            return True
        return ended and not shard.is_done()

    def _any_is_new(self, paths: Sequence[Path]) -> bool:
        return bool([path for path in paths if self._is_new(path)])  # each is taken note of

    def _is_new(self, path: Path) -> bool:
        """Whether it was written since the last time: opened, since on a shared file system a mere stat may
        tell how it was a minute ago."""
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
        except FileNotFoundError:
            return False
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        before, self._seen[path] = self._seen.get(path), stamp
        return before != stamp

    @staticmethod
    def _parts(paths: Iterable[Path], record: type[T]) -> list[T]:
        return [part for path in paths if (part := _readable(path, record)) is not None]


class _Tail:
    """What a shard has written to its episodes.jsonl since ``read_to``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_to = 0

    def read(self) -> tuple[list[bytes], int]:
        """Whole lines, without their newlines, and where the next one begins."""
        lines: list[bytes] = []
        end = self.read_to
        try:
            with open(self.path, "rb") as file:
                file.seek(end)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    lines.append(line[:-1])
                    end += len(line)
        except FileNotFoundError:
            pass
        return lines, end


class _Rows:
    """The run's own episodes.jsonl, which only grows, and what is in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_read = False
        self._lines: set[bytes] = set()
        self._last: dict[Identity, EpisodeRow] = {}
        self._decoder = msgspec.json.Decoder(EpisodeRow)

    def take(self, tails: Iterable[_Tail]) -> bool:
        """Append the lines that it has not; whether there were any."""
        if not self._is_read:
            for line, row in read_with_lines(self._path, EpisodeRow):
                self._note(line, row)
            self._is_read = True
        came = False
        for tail in tails:
            lines, end = tail.read()
            came = self._append(tail.path, lines) or came
            tail.read_to = end
        return came

    def that_count(self) -> list[EpisodeRow]:
        """The last row of each identity, in their order."""
        return [row for identity in sorted(self._last) if not (row := self._last[identity]).beyond_stop]

    def _append(self, path: Path, lines: Sequence[bytes]) -> bool:
        new = [(line, row) for line in lines if (row := self._new(path, line)) is not None]
        if not new:
            return False
        appender = LineAppender(self._path)
        try:
            for number, (line, row) in enumerate(new, start=1):
                appender.append(msgspec.Raw(line), durable=number == len(new))
                self._note(line, row)
        finally:
            appender.close()
        return True

    def _new(self, path: Path, line: bytes) -> EpisodeRow | None:
        """None of a line that is known, or torn."""
        if not line or _key(line) in self._lines:
            return None
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError as error:
            log.warning("a line of %s is passed over: %s", path, error)
            return None

    def _note(self, line: bytes, row: EpisodeRow) -> None:
        self._lines.add(_key(line))
        self._last[row.identity] = row


def _key(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


def _asked(request: EvalRequest) -> int:
    """Episodes of the whole list, as far as the request says; 0 where only the environment knows."""
    if request.episode_indices is not None:
        return len(request.episode_indices) * request.repeats
    return max(0, request.episode_count) * request.repeats


def _readable(path: Path, record: type[T]) -> T | None:
    """None where it is not there, or, with a warning, cannot be read."""
    if not path.exists():
        return None
    try:
        return read_json(path, record)
    except RunDirError as error:
        log.warning("%s", error)
        return None


def _replace(path: Path, value: object, *, durable: bool = True) -> None:
    """Write it as JSON, unless that is what is there."""
    data = encode_indented(value)
    if not path.exists() or path.read_bytes() != data:
        write_bytes(path, data, durable=durable)
