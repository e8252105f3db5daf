"""Dynamic children: what a node returns to have other nodes fired, and their results made into its outputs.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Sequence

from engine.components.bases import BaseCanvasNode

_Recipe = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], Dict[str, Any]]


@dataclass
class FireSpec:
    """A child to fire. ``capture_outputs``: the outputs that count; None for all of them."""

    node_type: str
    inputs: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    capture_outputs: list[str] | None = None


@dataclass
class FireList:
    """Returned by ``forward`` in place of outputs: the children fire in turn, each with a fresh node.

    The node's outputs are then ``spawner_outputs``, overlaid with what ``aggregator`` makes of the children's
    results, or, where it is empty, the node's own ``aggregate(results)``. A recipe is ``{"kind": K}``, with K
    ``passthrough_last``; ``passthrough_index`` with ``index``; ``merge_all``; or ``rename`` with ``map``
    {old: new} around another recipe, ``inner``.
    """

    specs: list[FireSpec] = field(default_factory=list)
    spawner_outputs: dict[str, Any] = field(default_factory=dict)
    aggregator: dict[str, Any] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {
            "specs": [dict(vars(spec)) for spec in self.specs],
            "spawner_outputs": self.spawner_outputs,
            "aggregator": self.aggregator,
        }


class DynamicFireListNode(BaseCanvasNode):
    """A node whose ``forward`` returns a :class:`FireList`."""

    @abstractmethod
    async def forward(self, inputs: dict[str, Any], ctx: Any) -> FireList:  # type: ignore[override]
        """The children to fire."""

    def aggregate(self, child_results: list[dict[str, Any]]) -> dict[str, Any]:
        """Outputs from the children's results, in order; asked where the list has no ``aggregator``."""
        raise NotImplementedError(
            f"{type(self).__name__} has no aggregate(results), and its FireList no aggregator"
        )


def aggregate_with(node: BaseCanvasNode, results: list[dict[str, Any]]) -> Any:
    """What the node's own ``aggregate`` makes of the results. TypeError where it has none."""
    aggregate = getattr(node, "aggregate", None)
    if aggregate is None:
        raise TypeError(f"{type(node).__name__} has no aggregate(results), and its FireList no aggregator")
    return aggregate(results)


def apply_recipe(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Outputs from the children's results. ValueError for a recipe that there is not."""
    kind = recipe.get("kind")
    if kind not in _RECIPES:
        raise ValueError(f"FireList.aggregator has the kind {kind!r}; there are {', '.join(_RECIPES)}")
    return _RECIPES[kind](recipe, results)


def _last(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return dict(results[-1]) if results else {}


def _index(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    index = int(recipe.get("index", 0))
    return dict(results[index]) if 0 <= index < len(results) else {}


def _merged(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for result in results for name, value in result.items()}


def _renamed(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = recipe.get("map") or {}
    inner = apply_recipe(recipe.get("inner") or {}, results)
    return {names.get(name, name): value for name, value in inner.items()}


_RECIPES: dict[str, _Recipe] = {
    "passthrough_last": _last,
    "passthrough_index": _index,
    "merge_all": _merged,
    "rename": _renamed,
}
