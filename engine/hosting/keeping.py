"""A host that is started again when it ends, where it was and as it was, or not at all."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.components.errors import HostFailure, HostStartFailed, NodeRaised
from engine.hosting.client import HostClient
from engine.hosting.leases import drop_dead, living
from engine.hosting.node_address import node_address
from engine.hosting.process import HostProcess, HostSpec
from engine.hosting.regimes import Regimes, config_of, difference, digest_of, regimes_of
from engine.store import server_folder as files
from engine.store.atomic import write_bytes, write_json
from engine.store.keys import Keys
from engine.store.process_identity import identity
from engine.store.records import now_iso
from engine.store.rundir import RunDirError
from engine.store.server_folder import (
    GaveUp,
    Ready,
    ServerFolder,
    ServerRecord,
    make_address,
    remove_address,
    socket_of,
)
from engine.store.strict_json import encode_indented

log = logging.getLogger(__name__)

STOP_GRACE_SEC = 10.0
LOOK_EVERY_SEC = 1.0
ANSWER_SEC = 5.0

MOST_ENDS = 4
"""Ends in a row, each soon after its start, until it is left at that."""
STABLE_SEC = 60.0
LONGEST_PAUSE_SEC = 8.0


class GaveUpError(Exception):
    """The server is not started again. Says why, for people."""


class UnusedError(GaveUpError):
    """Nobody uses it, and nobody may ever come; it has left word of that."""


class Keeper:
    """One attempt at a server. ``keys``: those that some nodesets are given. Use it once.

    On a cluster it answers over TCP, to whoever has the token of ``ready.json``, and ends by itself when it
    was not used for long, or another attempt has taken its place: there may be no backend that sees to that.
    """

    def __init__(self, folder: ServerFolder, record: ServerRecord, keys: Keys) -> None:
        self._folder = folder
        self._record = record
        self._keys = keys
        self._need = record.nodeset
        self._boot = identity().boot_id
        self._starts = 0
        self._token = secrets.token_urlsafe(32) if record.on else ""
        self._users: set[str] = set()
        self._gone: set[str] = set()
        self._used_at = time.monotonic()
        self._answered_at = 0.0
        self._comes_back = folder.read_regimes() is not None
        self._regimes = self._recorded()

    async def keep(self) -> None:
        """Have it up until this is cancelled. GaveUpError; OSError where its files cannot be written."""
        ends = 0
        try:
            while True:
                began = time.monotonic()
                why = await self._one_life()
                ends = 1 if time.monotonic() - began > STABLE_SEC else ends + 1
                if ends >= MOST_ENDS:
                    raise GaveUpError(f"it ended {ends} times in a row, and is not started again; {why}")
                pause = min(LONGEST_PAUSE_SEC, 2.0 ** (ends - 2)) if ends > 1 else 0.0
                log.warning("%s; it is started again in %g s", why, pause)
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            remove_address(self._record)
            raise
        except GaveUpError:
            if self._starts == 0 and not self._comes_back:  # else runs look there for why
                remove_address(self._record)
            raise

    async def _one_life(self) -> str:
        """From a start to an end that nobody asked for; what that was."""
        try:
            host = await self._start()
            try:
                self._announce(host, await self._confirmed(host))
                return await self._watch(host)
            finally:
                self._withdraw()
                await host.stop(STOP_GRACE_SEC)
        except HostFailure as failure:
            told = str(failure).removeprefix(f"{self._need.name} did not start: ")
            if failure.detail:
                log.error("%s\n%s", told, self._keys.strike_in(failure.detail))
                told += f" (more in {self._folder.stderr.relative_to(self._folder.root)})"
            if self._starts == 0:
                raise GaveUpError(told) from failure
            return told

    async def _start(self) -> HostProcess:
        """Nobody knows where it answers, until it was found to be the one that it is to be."""
        if self._record.address:
            make_address(self._folder, Path(self._record.address))
        log_path = self._folder.log(self._record.attempt)
        spec = HostSpec(
            name=self._need.name,
            path=Path(self._need.path),
            log_path=log_path,
            socket_dir=Path(self._record.address) if self._record.address else None,
            python=self._need.python or sys.executable,
            env={**self._keys.of_nodeset(self._need.name), **self._need.env},
            run=self._record.key,
            workspaces=self._need.workspaces,
            address=node_address() if self._record.on else "",
            token=self._token,
        )
        return await HostProcess.start(spec, self._need.start_deadline_sec)

    async def _confirmed(self, host: HostProcess) -> dict[str, Any]:
        """Its manifest, once it is the very server that it is to be. GaveUpError where it is another."""
        client = host.connect("")
        try:
            manifest = await client.manifest(self._need.start_deadline_sec)
            if manifest["source_hash"] != self._need.source_hash:
                raise GaveUpError(
                    f"{self._need.path} has changed since the run was submitted, and this server is"
                    " of its earlier source: submit again for what is there now"
                )
            if await self._load_what_was_loaded(client, manifest):
                manifest = await client.manifest(ANSWER_SEC)
        except HostFailure as failure:
            await host.ended_within(LOOK_EVERY_SEC)
            raise HostStartFailed(f"{failure}; {_how(host)}") from failure
        finally:
            await client.close()
        now = regimes_of(manifest)
        if changed := difference(self._regimes, now):
            raise GaveUpError(
                f"it came back in another regime, so that its rows would not be bit-comparable: {changed}"
            )
        self._note(now)
        return dict(manifest)

    async def _load_what_was_loaded(self, client: HostClient, manifest: Mapping[str, Any]) -> bool:
        """The configs that runs had it load before it ended, so that they are compared, too."""
        missing = self._regimes.keys() - manifest["batching"].keys()
        for tool, config in map(config_of, missing):
            with suppress(NodeRaised):  # then it is missing still, which is told
                await client.load(tool, config, self._need.start_deadline_sec)
        return bool(missing)

    def _announce(self, host: HostProcess, manifest: Mapping[str, Any]) -> None:
        self._starts += 1
        self._answered_at = self._used_at = time.monotonic()
        if self._record.address:
            host.move_to(socket_of(self._record))
        ready = Ready(
            attempt=self._record.attempt,
            url=host.url,
            pid=host.pid,
            starts=self._starts,
            manifest_digest=digest_of(manifest),
            since=now_iso(),
            private=bool(self._keys.of_nodeset(self._need.name)),
            token=self._token,
        )
        mode = 0o600 if self._token else 0o666
        write_bytes(self._folder.ready, encode_indented(ready), mode=mode, before=self._check)
        log.info("%s is up: pid %d, %s", self._need.name, host.pid, host.url)

    async def _watch(self, host: HostProcess) -> str:
        """Until it ends, or cannot be reached any more; how."""
        socket = socket_of(self._record) if self._record.address else None
        while not await host.ended_within(LOOK_EVERY_SEC):
            if socket is not None and not socket.exists():
                await host.kill(f"{socket} was removed, so that nothing reaches it")
                break
            self._check()
            if why := await self._keep_house(host):
                await host.kill(why)
                break
        return _how(host)

    async def _keep_house(self, host: HostProcess) -> str:
        """Drop what dead runs left there; note what runs have had it load. Another time where it is busy.

        Why it is to be killed; empty where it does its work.
        """
        patience = max([self._need.call_deadline_sec, *self._call_secs()])
        self._end_if_unused()
        client = host.connect("")
        try:
            health = await client.health(ANSWER_SEC)
            self._answered_at = time.monotonic()
            if health["oldest_call_sec"] > patience:
                return f"a call had not ended after {patience:g} s, and nobody waits for it any more"
            for name in tuple(self._gone):
                await client.end_all_within(name)
                self._gone.remove(name)
                log.info("%s uses it no more", name)
            self._note(regimes_of(await client.manifest(ANSWER_SEC)))
        except HostFailure as failure:
            log.debug("%s", failure)
            if time.monotonic() - self._answered_at > patience + ANSWER_SEC:
                return f"it had not answered for {patience:g} s"
        finally:
            await client.close()
        return ""

    def _call_secs(self) -> list[float]:
        """What its users let a call take. Who of them came and went is noted."""
        try:
            leases = living(self._folder)
            self._gone |= drop_dead(self._folder)
        except OSError as error:  # a shared file system that is away for a moment
            log.warning("who uses it cannot be seen: %s", error)
            return []
        self._gone |= self._users - leases.keys()
        self._users = set(leases)
        return [lease.call_sec for lease in leases.values()]

    def _check(self) -> None:
        """GaveUpError where another attempt at this server counts: its node was cut off, say."""
        with suppress(OSError, RunDirError):
            now = self._folder.read_record()
            if now is not None and now.attempt != self._record.attempt:
                raise GaveUpError("another start of this server has taken its place")

    def _end_if_unused(self) -> None:
        """Who comes takes a lease, and then looks for us; we say that we end, and then look for leases."""
        now, after = time.monotonic(), self._record.idle_sec
        if self._users or not after:
            self._used_at = now
        if now - self._used_at < after or not after:
            return
        why = f"nobody had used it for {after:g} s"
        word = self._folder.end(self._record.attempt)
        try:
            write_json(word, GaveUp(why=why, at=now_iso(), unused=True))
            if living(self._folder):
                word.unlink()
                return
        except OSError as error:
            log.error("that it ends is not written: %s", error)
        raise UnusedError(why)

    def _withdraw(self) -> None:
        """Nobody is to look for it any more where it was; another attempt's word stands."""
        with suppress(RunDirError):
            if self._folder.read_ready(self._record.attempt) is None:
                return
        self._folder.ready.unlink(missing_ok=True)

    def _recorded(self) -> Regimes:
        """Of an earlier attempt that was killed with all that is below it; here, of this boot."""
        found = self._folder.read_regimes()
        return found.tools if found and (self._record.on or found.boot_id == self._boot) else {}

    def _note(self, now: Regimes) -> None:
        known = {**now, **self._regimes}
        if known != self._regimes or not self._folder.regimes.exists():
            self._regimes = known
            write_json(self._folder.regimes, files.Regimes(boot_id=self._boot, tools=known))


def _how(host: HostProcess) -> str:
    """In one line, the last of its log in it."""
    last = "".join(f": {line.strip()}" for line in host.tail(1) if line.strip())
    return f"{host.spec.name} ended: {host.exit_cause() or 'its connection broke'}{last}"
