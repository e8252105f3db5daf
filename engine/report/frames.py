"""The images that an episode's log keeps, as streams of frames: which there are, and one of them in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from engine.control.reports import NotFoundError
from engine.store.assets import Asset, assets_of

MOST_VALUES, MOST_BYTES = 32, 4096
"""Of an action that is read from its file."""
HOW_TO_KEEP = "where its environment has a selector frames, --select frames=render keeps them"
_USUAL = "rgb"
"""The port that goes before others of the same node."""
_ENVIRONMENT, _TOOL, _PASSED_ON = range(3)


@dataclass(frozen=True)
class Stream:
    """Images of one port. nodes: ids of those that gave them: of an environment, all of its nodes (reset and
    step) together; of anything else, one. aliases: what each goes by beside its id. frames: how many."""

    port: str
    nodes: tuple[str, ...]
    aliases: frozenset[str]
    frames: int
    rank: int

    @property
    def is_made(self) -> bool:
        """Whether a node made them, and no loop only passed them on."""
        return self.rank < _PASSED_ON

    @property
    def name(self) -> str:
        return f"{'/'.join(self.nodes)}.{self.port} ({self.frames})"


@dataclass(frozen=True)
class Frame:
    """One image. step: of the root loop, as the log counts; action, reward: of its firing, where it says."""

    step: int
    path: Path
    action: Any = None
    reward: float | None = None


def streams_of(lines: Iterable[Mapping[str, Any]], folder: Path, environment: str | None) -> list[Stream]:
    """Every stream of an episode's log, the likeliest first: the environment's before other nodes' and these
    before what loops pass on, ``rgb`` before other ports, then the longest.

    environment: its nodeset; None where the run does not say, and then any that is called ``env_…``.
    """
    prefix = f"{environment}__" if environment else "env_"
    nodes: dict[tuple[str, str], dict[str, None]] = {}
    aliases: dict[tuple[str, str], set[str]] = {}
    frames: dict[tuple[str, str], int] = {}
    for line in lines:
        kind, node = str(line.get("node_type", "")), str(line.get("node_id", ""))
        source = prefix if kind.startswith(prefix) else node
        for port, _ in _images(line, folder):
            key = source, port
            nodes.setdefault(key, {})[node] = None
            aliases.setdefault(key, set()).update((node, kind, str(line.get("node_label", ""))))
            frames[key] = frames.get(key, 0) + 1
    found = [
        Stream(port, tuple(nodes[key]), frozenset(aliases[key]), count, _rank(key[0], prefix, aliases[key]))
        for key, count in frames.items()
        for port in [key[1]]
    ]
    return sorted(found, key=lambda one: (one.rank, one.port != _USUAL, -one.frames, one.nodes, one.port))


def choose(streams: Sequence[Stream], node: str | None, port: str | None, episode: str) -> Stream:
    """The first of a node (its id, label or type) and a port, where they are named.

    NotFoundError where the episode has no images, or none of those; it names those that there are.
    """
    if not streams:
        raise NotFoundError(f"{episode} has no frames: no node of its log gave an image; {HOW_TO_KEEP}")
    wanted = [
        stream
        for stream in streams
        if port in (None, stream.port) and (node is None or node in stream.aliases)
    ]
    if not wanted:
        asked = ".".join(filter(None, (node, port)))
        raise NotFoundError(
            f"{episode} has no images {asked!r}; it has {', '.join(one.name for one in streams)}"
        )
    return wanted[0]


def frames_of(
    lines: Iterable[Mapping[str, Any]], folder: Path, stream: Stream, node: str | None = None
) -> Iterator[Frame]:
    """The stream's frames in the log's order, whatever their files are like. ``node``: of that one alone."""
    for line in lines:
        if line.get("node_id") not in stream.nodes:
            continue
        if node is not None and node not in (line["node_id"], line.get("node_label"), line.get("node_type")):
            continue
        for port, image in _images(line, folder):
            if port == stream.port:
                step, reward = line.get("step"), _field(line, "outputs", "reward")
                yield Frame(
                    step=step if isinstance(step, int) else 0,
                    path=image.path,
                    action=_action(line, folder),
                    reward=float(reward) if isinstance(reward, int | float) else None,
                )


def _action(line: Mapping[str, Any], folder: Path) -> Any:
    """Of a small array that is kept in a file of its own, the values."""
    action = _field(line, "inputs", "action")
    if not isinstance(action, dict) or "$asset" not in action:
        return action
    import numpy

    for asset in assets_of({"inputs": action}, folder):
        if asset.path.suffix == ".npz" and prod(asset.shape) <= MOST_VALUES:
            # Another's log may say what its file does not hold.
            with suppress(Exception), numpy.load(asset.path, allow_pickle=False) as kept:
                if asset.path.stat().st_size <= MOST_BYTES and kept["array"].size <= MOST_VALUES:
                    return kept["array"].tolist()
    return action


def _field(line: Mapping[str, Any], side: str, port: str) -> Any:
    """None where the line has none: the log may be somebody else's."""
    found = line.get(side)
    return found.get(port) if isinstance(found, dict) else None


def _images(line: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, Asset]]:
    """Output port (with its place where it holds several) and image."""
    if not line.get("outputs"):
        return
    for asset in assets_of({"outputs": line["outputs"]}, folder):
        if asset.is_image:
            yield asset.port.partition(".")[2], asset


def _rank(source: str, prefix: str, aliases: Iterable[str]) -> int:
    if source == prefix:
        return _ENVIRONMENT
    return _TOOL if any("__" in alias for alias in aliases) else _PASSED_ON
