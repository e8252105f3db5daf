"""Tells the store when files change; what it misses (NFS), the store's own poll finds."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from pathlib import Path

from engine.store.rundir import runs_folder
from tui.store import Store

log = logging.getLogger(__name__)

LOOK_MS = 1000
RETRY_SEC = 2.0


async def watch_runs(root: Path, store: Store) -> None:
    """Until cancelled: the list of runs, and the folders of those that go on; never what lies below them."""
    while True:
        live = store.live_folders
        watched = [path for path in (runs_folder(root), *live) if path.is_dir()]
        try:
            if watched:
                await _watch(watched, live, store)
                continue
        except (OSError, RuntimeError) as error:  # no more watches are to be had, or a folder has gone
            log.info("watching %s: %s", root, error)
        await asyncio.sleep(RETRY_SEC)


async def _watch(watched: list[Path], live: frozenset[Path], store: Store) -> None:
    """Until other runs go on."""
    from watchfiles import awatch

    changes = awatch(
        *watched,
        watch_filter=None,
        recursive=False,
        debounce=200,
        step=50,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
    )
    async with aclosing(changes):
        async for changed in changes:
            if changed:
                store.poke()
            if store.live_folders != live:
                return
