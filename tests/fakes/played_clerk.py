"""A clerk whose cluster the tests play."""

from __future__ import annotations

from pathlib import Path

from engine.scheduling.launchers.slurm.commands import Listed


class PlayedClerk:
    """As :class:`engine.scheduling.launchers.slurm.clerk.Clerk`; ``jobs`` is what the cluster says."""

    def __init__(self) -> None:
        self.problem = ""
        self.jobs: dict[str, Listed] = {}
        self.submitted: list[tuple[str, Path]] = []
        self.cancelled: list[tuple[str, bool]] = []
        self.refusals: dict[str, str] = {}
        self.later: dict[str, str] = {}
        self.seen = True

    def watch(self, comment: str) -> None: ...

    def forget(self, comment: str) -> None:
        self.jobs.pop(comment, None)
        self.refusals.pop(comment, None)

    def submit(self, comment: str, script: Path) -> None:
        self.submitted.append((comment, script))

    def cancel(self, comment: str, *, by_force: bool = False) -> None:
        self.cancelled.append((comment, by_force))

    def look(self, comment: str) -> Listed | None:
        return self.jobs.get(comment)

    def number(self, comment: str) -> str:
        return self.jobs[comment].job_id if comment in self.jobs else ""

    def is_seen(self, comment: str) -> bool:
        return self.seen and comment in self.jobs

    def refused(self, comment: str) -> str | None:
        return self.refusals.get(comment)

    def put_off(self, comment: str) -> str:
        return self.later.get(comment, "")

    def says(self, state: str, reason: str = "", node: str = "") -> None:
        """Of the last job that was submitted."""
        comment, _ = self.submitted[-1]
        number = str(len(self.submitted))
        self.jobs[comment] = Listed(
            job_id=number, name="x", comment=comment, state=state, reason=reason, nodes=node
        )
