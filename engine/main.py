"""The composition root: hands the command line what it starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.cli.app import Need, run_command_line

if TYPE_CHECKING:
    from engine.control.protocol import Control


@contextmanager
def open_control(root: str | None, need: Need) -> Iterator[Control]:
    """The verbs for a root, as a command needs them; see :class:`engine.cli.app.OpenControl`."""
    from engine.control.local import LocalControl
    from engine.control.root import find_root

    yield LocalControl(find_root(root))


def main() -> None:
    """The console script ``evaltower``."""
    sys.exit(run_command_line(open_control))


if __name__ == "__main__":
    main()
