"""A server that others run: the scheduler, here or on a cluster; somebody, by hand; or AgentCanvas. Never
ended by us."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import msgspec

from engine.components.catalog import NodesetManifest, PortManifest, ToolManifest, nodeset_of
from engine.components.errors import HostBadReply, HostFailure, HostStartFailed
from engine.hosting.canvas_client import CanvasClient
from engine.hosting.client import HostClient
from engine.hosting.host_manifest import PROTOCOL
from engine.hosting.leases import holder
from engine.hosting.waiting import wait_until_back, where
from engine.store.server_folder import CLUSTER, server_at

REACH_SEC = 30.0


class _Function(msgspec.Struct):
    """A function of a server's manifest, as AgentCanvas has it. ``batched`` is only ours to say."""

    name: str
    description: str = ""
    input_ports: tuple[PortManifest, ...] = ()
    output_ports: tuple[PortManifest, ...] = ()
    batched: bool = False

    def tool(self) -> ToolManifest:
        return ToolManifest(
            node_type=self.name,
            description=self.description,
            inputs=self.input_ports,
            outputs=self.output_ports,
            batched=self.batched,
        )


class _ServerManifest(msgspec.Struct):
    """What ``GET /manifest`` says. The last four only a host of ours does."""

    name: str
    description: str = ""
    functions: tuple[_Function, ...] = ()
    protocol: str = ""
    parallelism: Literal["", "shared", "replicated"] = ""
    determinism: Literal["exact", "seeded", "none"] = "none"
    source_hash: str = ""


class BorrowedServer:
    """A server that answers at ``url``; stands where a :class:`HostProcess` of the run's own would.

    ``left_because``: why it was not to be used any more; empty while it is. ``token``: what it wants to be
    told; kept to ourselves.
    """

    returncode = None

    def __init__(self, name: str, url: str, said: _ServerManifest, shared: bool = False, token: str = ""):
        self.name = name
        self.url = url
        self.left_because = ""
        self._said = said
        self._shared = shared
        self._token = token

    @classmethod
    async def reach(cls, name: str, url: str) -> BorrowedServer:
        """Ask it what it is; a shared server of the scheduler's that is being started is waited for.

        HostStartFailed where nothing answers, or another nodeset does.
        """
        if "@" in url.partition("://")[2]:
            told = "its URL holds a user, or a password, which would be kept with the run: leave it out"
            raise HostStartFailed(told, name, "manifest")
        if not url.startswith(("http://", "unix:/", f"{CLUSTER}/")):
            told = f"{url!r} is no URL of a server, such as http://127.0.0.1:9200 or unix:/path"
            raise HostStartFailed(told, name, "manifest")
        try:
            there, token, said = await wait_until_back(url, lambda: _asked(name, url))
        except (HostFailure, msgspec.ValidationError) as error:
            raise HostStartFailed(
                f"{name} cannot be borrowed from {url}: {error}", name, "manifest"
            ) from error
        if said.name != name:
            raise HostStartFailed(f"{url} serves {said.name!r}, not {name!r}", name, "manifest")
        return cls(name, there, said, server_at(url) is not None, token)

    def connect(self, caller: str) -> HostClient:
        """A caller's connection, in the server's own dialect."""
        if not self._is_ours:
            return CanvasClient(self.url, caller, self.name)
        return HostClient(self.url, caller, self.name, holder() if self._shared else "", self._token)

    async def manifest(self, installed: NodesetManifest | None) -> NodesetManifest:
        """The nodeset as it can be used there: declared as it is installed here, with the tools it has there.

        No determinism is claimed for AgentCanvas's servers. HostStartFailed where its panel does not answer.
        """
        declared = installed or await self._declared()
        tools = {f.name: f.tool() for f in self._said.functions if nodeset_of(f.name) == self.name}
        return msgspec.structs.replace(
            declared,
            origin="server",
            server_image=None,
            server_python=None,
            source_hash=self._said.source_hash,
            determinism=self._said.determinism if self._is_ours else "none",
            tools={name: declared.tools.get(name, tool) for name, tool in tools.items()},
        )

    async def stop(self, grace: float) -> None:
        """Nothing: it is not ours to stop."""

    async def kill(self, reason: str) -> None:
        """It is not ours to kill; ``reason`` is remembered."""
        self.left_because = reason

    async def ended_within(self, seconds: float) -> bool:
        """False: whether its process ended cannot be seen from here."""
        return False

    def exit_cause(self) -> str:
        """Where it runs, which is all that is known of it."""
        return f"borrowed from {self.url}"

    def tail(self, lines: int) -> list[str]:
        """Nothing: its output is where it was started."""
        return []

    def tree_memory_mb(self) -> float:
        """0: it weighs on whoever started it."""
        return 0.0

    @property
    def _is_ours(self) -> bool:
        return self._said.protocol == PROTOCOL

    async def _declared(self) -> NodesetManifest:
        """What it says of itself, where nothing is known of it here."""
        panel = await self._panel()
        return NodesetManifest(
            name=self.name,
            class_name="",
            path="",
            description=self._said.description,
            parallelism=self._said.parallelism or ("shared" if panel is None else "replicated"),
            parallelism_assumed=not self._said.parallelism,
            panel=panel,
        )

    async def _panel(self) -> dict[str, Any] | None:
        """Its panel's schema; None where it has none, which it says with a 404."""
        client = self.connect("")
        try:
            with suppress(HostBadReply):
                return dict(await client.panel_info(REACH_SEC))
        except HostFailure as error:
            raise HostStartFailed(str(error), self.name, "panel") from error
        finally:
            await client.close()
        return None


async def _asked(name: str, url: str) -> tuple[str, str, _ServerManifest]:
    """(Where it answers, the token that it wants, what it says of itself)."""
    there, token = where(url, name)
    client = CanvasClient(there, "", name, token=token)
    try:
        return there, token, msgspec.convert(await client.manifest(REACH_SEC), _ServerManifest)
    finally:
        await client.close()
