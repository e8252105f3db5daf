"""Stands in for what only AgentCanvas's own process has. Importing it is harmless, using it says so."""

from __future__ import annotations

from typing import Any, Callable, NoReturn


class CanvasOnlyError(ImportError):
    """A nodeset used a name of AgentCanvas's that has no counterpart here. The message holds the name."""


class CanvasOnly:
    """A name that was imported. Calling it, deriving from it or reading an attribute is CanvasOnlyError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}, which only AgentCanvas has>"

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise CanvasOnlyError(
            f"{self._name} exists only inside AgentCanvas's own process, so that what uses it cannot run here"
        )


def canvas_only(module: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module: every name that the module lacks is a :class:`CanvasOnly`."""

    def missing(name: str) -> CanvasOnly:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return CanvasOnly(f"{module}.{name}")

    return missing
