"""Which of an environment's splits a run plays that names none."""

from __future__ import annotations

from collections.abc import Sequence

PREFERRED_SPLIT = "val_unseen"


def usual_split(graph_split: str, splits: Sequence[str]) -> str:
    """The graph's own, where there is one of that name, else ``val_unseen``, else the first. "" where the
    environment names none, and the graph does not either."""
    for name in (graph_split, PREFERRED_SPLIT):
        if name in splits:
            return name
    return splits[0] if splits else graph_split
