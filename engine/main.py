"""The composition root: hands the command line what it starts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from engine.cli.app import run_command_line

if TYPE_CHECKING:
    from engine.control.protocol import Control


def open_control(root: str | None) -> Control:
    """The verbs for a root; None: by the rule for roots."""
    from engine.control.local import LocalControl
    from engine.control.root import find_root

    return LocalControl(find_root(root))


def main() -> None:
    """The console script ``evaltower``."""
    sys.exit(run_command_line(open_control))


if __name__ == "__main__":
    main()
