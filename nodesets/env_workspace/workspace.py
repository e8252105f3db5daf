"""One episode's folder: laid out from its case, worked in by commands, looked at, removed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Mapping

from .archive import unpack
from .baseline import Baseline, GitError, git, ignore_leavings, init
from .cases import Case
from .command import Finished, run
from .paths import inside
from .shelter import remove
from .surroundings import FOLDER, surroundings

SETUP_SEC = 600.0
"""Of each of the commands that lay a folder out, and of git."""

READ_BYTES = 64 << 20
_TOLD_BYTES = 1 << 20
_SHELL = ("/bin/sh", "-c")
_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Workspace:
    """``home`` holds the case's folder, its temporary files and its baseline; it is emptied first.

    ``adopting``: see :func:`leftovers.end_all`. Nothing here is for an event loop's thread: it all waits.
    """

    def __init__(self, case: Case, home: Path, adopting: bool) -> None:
        """Raises ValueError, with what is wrong with the case; OSError where the machine is full."""
        self.case = case
        self.home = home
        self.folder = home / "work"
        self._temporary = home / "tmp"
        self._adopting = adopting
        self.close()
        for folder in (self.folder, self._temporary):
            folder.mkdir(parents=True)
        try:
            self._lay_out()
            self._baseline = Baseline(self.folder, home / "baseline", self._program)
        except (ValueError, GitError, OSError) as error:
            self.close()
            if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
                raise
            raise ValueError(f"case {case.case_id}: {error}") from error

    def close(self) -> None:
        if self.home.exists():
            remove(self.home)

    def shell(
        self,
        command: str,
        timeout_sec: float,
        cwd: str = "",
        environment: Mapping[str, str] | None = None,
        keep_bytes: int = _TOLD_BYTES,
    ) -> Finished:
        """Run a command line of the POSIX shell in the folder, or below it. Raises ValueError."""
        place = inside(self.folder, cwd, "cwd")
        if not place.is_dir():
            raise ValueError(f"cwd {cwd!r} is no folder of the episode's")
        return self._run([*_SHELL, command], place, environment or {}, timeout_sec, keep_bytes)

    def read_file(self, path: str) -> bytes:
        """Raises ValueError where it is no file of the folder, or larger than 64 MiB."""
        file = inside(self.folder, path)
        if not file.is_file():
            raise ValueError(f"path {path!r} is no file of the episode's folder")
        if file.stat().st_size > READ_BYTES:
            raise ValueError(f"path {path!r} has {file.stat().st_size} bytes; at most {READ_BYTES} are read")
        return file.read_bytes()

    def write_file(self, path: str, data: bytes) -> None:
        """Replace it, making the folders above it. Raises ValueError and OSError."""
        file = inside(self.folder, path)
        if file.is_dir():
            raise ValueError(f"path {path!r} is a folder; give one of a file")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def snapshot(self) -> dict[str, Any]:
        """See :meth:`Baseline.snapshot`. Raises GitError."""
        return self._baseline.snapshot()

    def nameless(self, text: str) -> str:
        """The text with the episode's paths in terms of variables: where they lie says nothing of it."""
        return text.replace(str(self.folder), "$" + FOLDER).replace(str(self._temporary), "$TMPDIR")

    def _lay_out(self) -> None:
        case = self.case
        if case.repo is not None:
            self._fetch(case.repo["url"], case.repo["commit"])
        if case.archive:
            unpack(case.beside / case.archive, self.folder)
        is_new = not (self.folder / ".git").exists()
        if is_new:
            init(self._program)
        ignore_leavings(self.folder / ".git")
        for path, text in case.files.items():
            self.write_file(path, text.encode("utf-8"))
        if case.setup:
            self._set_up(case.setup)
        git(self._program, "add", "-A")
        if is_new or git(self._program, "status", "--porcelain"):
            git(self._program, "commit", "-q", "--allow-empty", "-m", "As the episode found it")

    def _fetch(self, url: str, commit: str) -> None:
        """That commit and what came before it: what the project did next is no business of the harness."""
        source = self.case.beside / os.path.expanduser(url)
        init(self._program)
        git(self._program, "fetch", "-q", "--no-tags", "--", str(source) if source.exists() else url, commit)
        git(self._program, "reset", "-q", "--hard", "FETCH_HEAD")
        (self.folder / ".git" / "FETCH_HEAD").unlink()

    def _set_up(self, command: str) -> None:
        done = self.shell(command, SETUP_SEC)
        if done.timed_out:
            raise ValueError(f"setup was still running after {SETUP_SEC:g} s")
        if done.exit_code != 0:
            raise ValueError(f"setup exited {done.exit_code}: {done.told()}")

    def _program(self, argv: list[str], variables: Mapping[str, str]) -> Finished:
        return self._run(argv, self.folder, variables, SETUP_SEC, _TOLD_BYTES)

    def _run(
        self, argv: list[str], cwd: Path, variables: Mapping[str, str], timeout_sec: float, keep_bytes: int
    ) -> Finished:
        environment = {**surroundings(os.environ, self.folder, self._temporary), **variables}
        return run(argv, cwd, environment, timeout_sec, keep_bytes, self._adopting)
