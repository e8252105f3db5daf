"""Shared servers: what is loaded, for whom, and the keys that load and unload."""

from __future__ import annotations

from typing import Any

from engine.control.queue_reports import ServerReport
from engine.control.reports import ConflictError
from tests.fakes.control import FakeControl, busy_control
from tests.tui.screen import centre, settled, text_of, until
from tui.app import ControlCentre
from tui.screens.servers import ServersView


def control() -> FakeControl:
    found = busy_control()
    found.server_reports = [
        ServerReport(name="env_toy", parallelism="replicated", state="installed"),
        ServerReport(name="idle_policy", parallelism="shared", state="installed"),
        ServerReport(
            name="toy_policy",
            parallelism="shared",
            state="ready",
            key="toy_policy@1",
            url="unix:/run/toy.sock",
            pid=4711,
            users=["20260518_141000"],
            kept=True,
            memory_mb={"GPU-0000": 4096.0, "ram": 512.0},
        ),
        ServerReport(
            name="broken", parallelism="shared", state="failed", detail="[/x] ImportError: no torch"
        ),
    ]
    return found


async def opened(pilot: Any, app: ControlCentre) -> None:
    await settled(pilot)
    app.open_view("servers")
    await until(pilot, lambda: app.store._looker.watch_servers)
    app.clock.advance(1.0)  # type: ignore[attr-defined]
    await until(pilot, lambda: any("toy_policy" in line for line in text_of(app)))


async def test_what_is_loaded_is_told_with_its_process_its_memory_and_its_users() -> None:
    app = centre(control())
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot, app)
        row = next(line for line in text_of(app) if "toy_policy" in line)
        for part in ("ready, kept", "GPU 0 4.0G, RAM 0.5G", "you, navA", "4711", "unix:/run/toy.sock"):
            assert part in row
        assert any("[/x] ImportError: no torch" in line for line in text_of(app))


async def test_u_unloads_what_is_loaded_and_l_loads_what_is_not() -> None:
    fake = control()
    app = centre(fake)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        assert isinstance(app.view, ServersView)
        table = app.view.pane
        assert table.go_to_id("toy_policy@1")  # type: ignore[attr-defined]
        await pilot.press("u")
        await until(pilot, lambda: ("unload_server", "toy_policy") in fake.calls)
        table.go_to_id("idle_policy")  # type: ignore[attr-defined]
        await pilot.press("u")
        await pilot.press("l")
        await until(pilot, lambda: ("load_server", "idle_policy") in fake.calls)
        assert fake.calls.count(("unload_server", "idle_policy")) == 0
        table.go_to_id("env_toy")  # type: ignore[attr-defined]
        await pilot.press("l")
        await pilot.pause()
        assert ("load_server", "env_toy") not in fake.calls


async def test_a_refusal_is_told_and_read_only_changes_nothing() -> None:
    fake = control()
    fake.refuses["load_server"] = ConflictError("needs 40.0 GB; GPU 1 has 37.1 free")
    app = centre(fake)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        app.view.pane.go_to_id("idle_policy")  # type: ignore[union-attr]
        await pilot.press("l")
        await until(pilot, lambda: app.activity.entries and app.activity.entries[-1].failed)
        assert "37.1 free" in app.activity.entries[-1].outcome
    fake = control()
    app = centre(fake, read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        app.view.pane.go_to_id("idle_policy")  # type: ignore[union-attr]
        await pilot.press("l")
        await pilot.pause()
        assert fake.calls == []


async def test_servers_are_only_asked_for_while_they_are_looked_at() -> None:
    app = centre(control())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert app.snapshot.servers == ()
        await opened(pilot, app)
        assert len(app.snapshot.servers) == 4
        await pilot.press("escape")
        await until(pilot, lambda: not app.store._looker.watch_servers)
