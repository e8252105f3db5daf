"""A pane of lines that may be more than it has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.widgets.drawn import DrawnPane, Line

END = 1_000_000


class ScrolledPane(DrawnPane):
    """Subclasses make :meth:`all_lines`; ``top`` is the first that is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.top = 0

    def all_lines(self, width: int, height: int) -> Sequence[Line]:
        """Of any number; ``height``: what there is room for."""
        return ()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        lines = self.all_lines(width, height)
        self.top = max(0, min(self.top, len(lines) - height))
        return lines[self.top :]

    async def do(self, action_id: str) -> bool:
        page = max(1, self.content_size.height - 1)
        moves: dict[str, Callable[[], int]] = {
            "global.down": lambda: self.top + 1,
            "global.up": lambda: self.top - 1,
            "global.first": lambda: 0,
            "global.last": lambda: END,
            "global.page_down": lambda: self.top + page,
            "global.page_up": lambda: self.top - page,
            "global.half_page_down": lambda: self.top + page // 2,
            "global.half_page_up": lambda: self.top - page // 2,
        }
        if action_id not in moves:
            return False
        self.top = max(0, moves[action_id]())
        self.changed()
        return True
