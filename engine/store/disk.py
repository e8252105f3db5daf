"""What the box refuses a writer, in words that say what to do."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress
from pathlib import Path

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that room on the disk would cure."""

FEW_INODES = 16
"""As good as none: some may have become free since the error."""

BOX_ERRORS = FULL | {errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EFBIG}
"""Errors that the next write would meet, too."""


def named(error: OSError, path: Path) -> OSError:
    """The same error with its path: that of a failed write has none."""
    if error.filename is not None:
        return error
    return OSError(error.errno, error.strerror, str(path))


def box_failure(error: BaseException | None) -> OSError | None:
    """The refusal of the box that an error is, or comes from."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in BOX_ERRORS:
            return error
        error = error.__cause__
    return None


def advice(error: OSError) -> str:
    """The path, what is wrong with it, and what to do about it."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}: {_remedy(error)}"


def _remedy(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return (
            "remove files there (it has no inodes left)" if _lacks_inodes(error) else "make room on that disk"
        )
    if error.errno == errno.EDQUOT:
        return "remove files of yours there, or have the quota raised"
    if error.errno == errno.EROFS:
        return "have that file system mounted for writing, or use another --root"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "make it writable for the user who runs this, or use another --root"
    if error.errno == errno.EMFILE:
        return (
            f"raise the limit on open files, {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} now (ulimit -n)"
        )
    if error.errno == errno.ENFILE:
        return "the whole machine has too many open files (sysctl fs.file-max)"
    return (
        "see whether the disk is well (dmesg)"
        if error.errno == errno.EIO
        else "see whether it is as it should be"
    )


def _lacks_inodes(error: OSError) -> bool:
    with suppress(OSError, TypeError):
        there = os.statvfs(Path(os.fsdecode(error.filename)).parent)
        return there.f_files > 0 and there.f_favail < FEW_INODES
    return False
