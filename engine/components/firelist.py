"""Dynamic children: what a node returns to have other nodes fired, and their results made into its outputs.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Sequence

from engine.components.bases import BaseCanvasNode

_FIELDS: dict[str, type[Any]] = {"node_type": str, "inputs": dict, "config": dict, "label": str}

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
    results, or, where it is empty, the node's own ``aggregate(results)``. A recipe is ``{"kind": K}``, or K
    alone, with K ``passthrough_last``; ``passthrough_index`` with ``index``; ``merge_all``; or ``rename``
    with ``map`` {old: new} around another recipe, ``inner``.
    """

    specs: list[FireSpec] = field(default_factory=list)
    spawner_outputs: dict[str, Any] = field(default_factory=dict)
    aggregator: dict[str, Any] | str = field(default_factory=dict)

    def checked(self) -> FireList:
        """The same, with its recipe written out. TypeError and ValueError name the field that is wrong."""
        if not isinstance(self.specs, (list, tuple)):
            raise TypeError(f"FireList.specs must be a list of FireSpec, not {type(self.specs).__name__}")
        for index, spec in enumerate(self.specs):
            where = f"FireList.specs[{index}]"
            if not isinstance(spec, FireSpec):
                raise TypeError(f"{where} must be a FireSpec, not {type(spec).__name__}")
            for name, kind in _FIELDS.items():
                _require(f"{where}.{name}", getattr(spec, name), kind)
            if spec.capture_outputs is not None:
                _require(f"{where}.capture_outputs", spec.capture_outputs, list)
                for name in spec.capture_outputs:
                    _require(f"a name in {where}.capture_outputs", name, str)
        _require("FireList.spawner_outputs", self.spawner_outputs, dict)
        return FireList(self.specs, self.spawner_outputs, _written_out(self.aggregator))

    def as_data(self) -> dict[str, Any]:
        """As it goes over the wire. Raises what :meth:`checked` raises."""
        checked = self.checked()
        return {
            "specs": [dict(vars(spec)) for spec in checked.specs],
            "spawner_outputs": checked.spawner_outputs,
            "aggregator": checked.aggregator,
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


def checked_outputs(method: str, outputs: Any) -> dict[str, Any]:
    """What a node returned in the end. TypeError where it is no dict of outputs."""
    if not isinstance(outputs, dict):
        raise TypeError(f"{method} must return a dict of outputs by port name, not {type(outputs).__name__}")
    for name in outputs:
        if not isinstance(name, str):
            raise TypeError(f"{method} must name its outputs by text, not by {name!r}")
    return outputs


def aggregate_with(node: BaseCanvasNode, results: list[dict[str, Any]]) -> Any:
    """What the node's own ``aggregate`` makes of the results. TypeError where it has none."""
    aggregate = getattr(node, "aggregate", None)
    if aggregate is None:
        raise TypeError(f"{type(node).__name__} has no aggregate(results), and its FireList no aggregator")
    return aggregate(results)


def apply_recipe(recipe: Mapping[str, Any] | str, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Outputs from the children's results. TypeError and ValueError for a recipe that there is not."""
    recipe = _written_out(recipe)
    return _RECIPES[recipe["kind"]](recipe, results) if recipe else {}


def _written_out(recipe: Any) -> dict[str, Any]:
    """A recipe as a dict, with those inside it; empty for none."""
    recipe = {"kind": recipe} if isinstance(recipe, str) and recipe else recipe or {}
    _require("FireList.aggregator", recipe, dict)
    if not recipe:
        return {}
    kind = recipe.get("kind")
    if not isinstance(kind, str) or kind not in _RECIPES:
        raise ValueError(f"FireList.aggregator has the kind {kind!r}; there are {', '.join(_RECIPES)}")
    index, names = recipe.get("index", 0), recipe.get("map") or {}
    if not isinstance(index, int):
        raise TypeError(f"FireList.aggregator, {kind}: index must be a whole number, not {index!r}")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise TypeError(f"FireList.aggregator, {kind}: map must be a dict of old names to new ones")
    if kind == "rename":
        inner = _written_out(recipe.get("inner"))
        if not inner:
            raise ValueError('FireList.aggregator, rename: it has no recipe as "inner"')
        return dict(recipe, inner=inner)
    return dict(recipe)


def _require(where: str, value: Any, kind: type[Any]) -> None:
    """A dict's keys are text, too."""
    if not isinstance(value, kind):
        raise TypeError(f"{where} must be a {kind.__name__}, not {type(value).__name__}")
    if kind is dict:
        for name in value:
            _require(f"a name in {where}", name, str)


def _last(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return dict(results[-1]) if results else {}


def _index(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    index = recipe.get("index", 0)
    return dict(results[index]) if 0 <= index < len(results) else {}


def _merged(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for result in results for name, value in result.items()}


def _renamed(recipe: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = recipe.get("map") or {}
    inner = apply_recipe(recipe["inner"], results)
    return {names.get(name, name): value for name, value in inner.items()}


_RECIPES: dict[str, _Recipe] = {
    "passthrough_last": _last,
    "passthrough_index": _index,
    "merge_all": _merged,
    "rename": _renamed,
}
