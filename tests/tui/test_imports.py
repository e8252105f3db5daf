"""What a command that shows no screen must not wait for."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("textual", "watchfiles", "tui", "numpy", "PIL")


def _loaded(statement: str) -> set[str]:
    """The heavy packages that ``statement`` imports, in a process of its own."""
    script = (
        f"import sys\n{statement}\nprint(*sorted({set(HEAVY)!r} & set(sys.modules)), file=sys.__stderr__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stderr.split())


def test_the_command_line_does_not_import_the_screen() -> None:
    assert not _loaded("import engine.main")


def test_help_does_not_import_the_screen() -> None:
    run = "sys.argv = ['evaltower', '--help']\nimport engine.main\n"
    run += "try:\n    engine.main.main()\nexcept SystemExit: pass"
    assert not _loaded(run)


def test_what_is_needed_before_the_first_paint_imports_no_numpy_and_no_pillow() -> None:
    rooms = ("terminal_app", "keymap", "theme", "state_file")
    assert not _loaded(f"import {', '.join(f'tui.{room}' for room in rooms)}") & {
        "numpy",
        "PIL",
        "watchfiles",
    }


def test_the_log_file_room_needs_no_screen() -> None:
    rooms = ("index", "rows", "search", "filters", "follow")
    assert "textual" not in _loaded(f"import {', '.join(f'tui.logfile.{room}' for room in rooms)}")
