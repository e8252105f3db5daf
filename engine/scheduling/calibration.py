"""What past runs really took: ``outputs/system/resource_calibration.json``.

A run is known by its graph, its nodesets' sources, what it plays and its worker count; a shared server by its
source and the workers that it served. Only completed runs that were seen from their start, long enough, and
whose workers had episodes that did not fail, enter.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from engine.scheduling.kept_aside import read_or_set_aside
from engine.scheduling.need import Need, server_key
from engine.store.atomic import write_json
from engine.store.records import NodesetNeed, now_iso

log = logging.getLogger(__name__)

KEPT_PEAKS = 5
"""Observations of one kind that count; older ones go, so that what shrank is believed after a while."""

KEPT_ENTRIES = 1000


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """The most that one run held: on any one card, and of main memory. None: not seen well enough.

    after_sec: when it had reached all of it, counted from its start. runs: how many runs this sums up.
    """

    vram_mb: float | None = None
    ram_mb: float | None = None
    after_sec: float = 0.0
    runs: int = 1


class Entry(msgspec.Struct, kw_only=True):
    """name: for people. by_workers: worker count → its last peaks, oldest first."""

    name: str
    by_workers: dict[int, list[Peak]] = {}
    updated_at: str = ""


class CalibrationFile(msgspec.Struct, kw_only=True):
    """The file; ``runs`` and ``servers`` by their keys."""

    schema: int = 1
    runs: dict[str, Entry] = {}
    servers: dict[str, Entry] = {}


class Calibration:
    """The file in memory. ``set_aside``: where an unreadable one was moved."""

    def __init__(self, path: Path) -> None:
        """Read it. An unreadable file is kept aside, and everything is unknown again."""
        self._path = path
        found, self.set_aside = read_or_set_aside(path, CalibrationFile)
        self._file = found or CalibrationFile()

    def of_run(self, need: Need) -> dict[int, Peak]:
        """The highest of the last peaks of such a run, by worker count."""
        return _highest(self._file.runs.get(need.run_key))

    def of_kin(self, need: Need) -> dict[int, Peak]:
        """The same of the last runs that differ from it in what they play, or not at all."""
        return _highest(self._file.runs.get(need.kin_key))

    def of_server(self, nodeset: NodesetNeed) -> dict[int, Peak]:
        """The same of a shared server, by the workers that it served."""
        return _highest(self._file.servers.get(server_key(nodeset)))

    def record_run(self, need: Need, peak: Peak) -> None:
        """Take in a completed run."""
        for key in dict.fromkeys((need.run_key, need.kin_key)):
            self._record(self._file.runs, key, need.graph_name, need.worker_count, peak)
        self._save()

    def record_server(self, nodeset: NodesetNeed, workers: int, peak: Peak) -> None:
        """Take in what a shared server held while ``workers`` used it."""
        self._record(self._file.servers, server_key(nodeset), nodeset.name, workers, peak)
        self._save()

    def _record(self, entries: dict[str, Entry], key: str, name: str, workers: int, peak: Peak) -> None:
        entry = entries.setdefault(key, Entry(name=name))
        peaks = entry.by_workers.setdefault(workers, [])
        peaks.append(peak)
        del peaks[:-KEPT_PEAKS]
        entry.updated_at = now_iso()
        entries[key] = entries.pop(key)  # the longest unused comes first, and goes first
        while len(entries) > KEPT_ENTRIES:
            del entries[next(iter(entries))]

    def _save(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, self._file)
        except OSError as error:  # the next record tries again, with this one in it
            log.warning("%s was not written: %s", self._path, error)


def _highest(entry: Entry | None) -> dict[int, Peak]:
    found: Mapping[int, list[Peak]] = entry.by_workers if entry else {}
    return {
        workers: Peak(
            vram_mb=max((peak.vram_mb for peak in peaks if peak.vram_mb is not None), default=None),
            ram_mb=max((peak.ram_mb for peak in peaks if peak.ram_mb is not None), default=None),
            after_sec=max(peak.after_sec for peak in peaks),
            runs=len(peaks),
        )
        for workers, peaks in found.items()
        if peaks
    }
