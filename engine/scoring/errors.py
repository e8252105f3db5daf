"""What goes wrong with a platform that has traces or takes them."""

from __future__ import annotations


class PlatformError(Exception):
    """A platform could not be asked, or did not do it. ``status``: of the HTTP answer, None where there was
    none."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class CollectError(PlatformError):
    """A trace could not be fetched."""


class ExportError(PlatformError):
    """The platform did not take it; the message says what it said."""
