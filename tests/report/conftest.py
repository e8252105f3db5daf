from __future__ import annotations

from tests.cli.conftest import cache_home, root, shell

__all__ = ["cache_home", "root", "shell"]
