"""What has changed in a folder, as git sees it, since its baseline.

The baseline lies in a repository of its own outside the folder: what a harness does to the folder's own
(commits, stashes, configuration, ``rm -rf .git``) does not change what it is compared with, nor how.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, List, Mapping

from .command import Finished

DIFF_BYTES = 4 << 20
"""Of a longer diff this much is kept, from its beginning."""

TRACES = ".evaltower/"
"""Where in the folder a harness leaves its trace."""

_NO_CHANGES = ("__pycache__/", "*.pyc", ".pytest_cache/", TRACES)
_DIFF = ("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")

Runner = Callable[[List[str], Mapping[str, str]], Finished]
"""Runs a program in the folder, with more environment variables."""


class GitError(Exception):
    """git said no."""


def git(runner: Runner, *words: str, **variables: str) -> str:
    """What it printed; GitError with what it said where it failed."""
    try:
        done = runner(["git", *words], variables)
    except FileNotFoundError:
        raise GitError("git is not installed; env_workspace needs it") from None
    if done.timed_out or done.exit_code != 0:
        why = "was still running at its time limit" if done.timed_out else f"exited {done.exit_code}"
        raise GitError(f"git {words[0]} {why}: {done.told()}")
    return done.stdout


def init(runner: Runner, **variables: str) -> None:
    """A repository without anything of this machine's templates."""
    git(runner, "init", "-q", "--template=", **variables)


def ignore_leavings(repository: Path) -> None:
    """What interpreters leave behind is no change."""
    (repository / "info").mkdir(exist_ok=True)
    (repository / "info" / "exclude").write_text("\n".join(_NO_CHANGES) + "\n", "utf-8")


class Baseline:
    """The state of ``folder`` as it is now; ``own``: an empty place for its repository."""

    def __init__(self, folder: Path, own: Path, runner: Runner) -> None:
        self._own = own
        self._runner = runner
        self._at = {"GIT_DIR": str(own), "GIT_WORK_TREE": str(folder)}
        init(runner, **self._at)
        ignore_leavings(own)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "As the episode found it")
        self._commit = self._git("rev-parse", "HEAD").strip()

    def snapshot(self) -> dict[str, Any]:
        """``{kind, diff, changed_files, head_sha}``; ``diff_truncated`` where the diff is longer than
        ``DIFF_BYTES``. head_sha: of the folder's own repository. Raises GitError."""
        self._git("add", "-A")
        diff = self._to_file(*_DIFF, self._commit)
        names = self._to_file(*_DIFF, "--name-only", "-z", self._commit)
        found = {
            "kind": "repo",
            "diff": diff[:DIFF_BYTES].decode("utf-8", "replace"),
            "changed_files": sorted(filter(None, names.decode("utf-8", "replace").split("\0"))),
            "head_sha": self._head(),
        }
        return dict(found, diff_truncated=True) if len(diff) > DIFF_BYTES else found

    def _head(self) -> str:
        try:
            return git(self._runner, "rev-parse", "--verify", "-q", "HEAD").strip()
        except GitError:
            return self._commit

    def _to_file(self, *words: str) -> bytes:
        """What it would print, which may be more than is kept of a command's output."""
        file = self._own / "printed"
        self._git(words[0], f"--output={file}", *words[1:])
        with file.open("rb") as printed:
            return printed.read(DIFF_BYTES + 1)

    def _git(self, *words: str) -> str:
        return git(self._runner, *words, **self._at)
