"""Where on a cluster an attempt is."""

from __future__ import annotations

import msgspec


class ClusterNote(msgspec.Struct, frozen=True, kw_only=True):
    """Where on a cluster an attempt is. on: ``slurm`` or ``slurm:PARTITION``. job_id, state, reason, node: as
    Slurm last told them, of several shards each one's, with commas. gpus: that it was given, of all nodes.
    nodes: over so many it is split. why: in our words, where there is something to say."""

    on: str
    nodes: int = 1
    job_id: str = ""
    state: str = ""
    reason: str = ""
    node: str = ""
    gpus: int = 0
    why: str = ""

    @property
    def told(self) -> str:
        """``slurm:gpu job 12 on n1, 2 GPUs``."""
        job = f" job{'s' if ',' in self.job_id else ''} {_few(self.job_id)}" if self.job_id else ""
        node = f" on {_few(self.node)}" if self.node else ""
        gpus = f", {self.gpus} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else ""
        return f"{self.on}{job}{node}{gpus}"


def _few(names: str) -> str:
    """The first of many, and how many there are."""
    every = names.split(",")
    return names if len(every) <= 3 else f"{','.join(every[:2])} and {len(every) - 2} more"
