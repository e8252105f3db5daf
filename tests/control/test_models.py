"""Chat models as ``check``, ``start`` and ``doctor`` see them."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from engine.control.local import LocalControl
from engine.control.reports import CheckReport, DoctorItem, RefusedError, StartRequest
from tests.fakes.chat_server import chat_server, fails
from tests.fakes.workspace import toy_graph

SETTINGS = """
[profiles.gpt-5-mini]
base_url = "https://api.example.org/v1"
model = "gpt-5-mini"
api_key_env = "NOT_SET_HERE"
[profiles.local]
base_url = "http://127.0.0.1:1/v1"
model = "tiny"
"""


def asking(control: LocalControl, settings: str | None = SETTINGS, **config: Any) -> CheckReport:
    """What check says of a graph that asks one model."""
    if settings is not None:
        (control.root / "evaltower.toml").write_text(settings)
    graph = toy_graph()
    graph["nodes"].append({"id": "ask", "type": "llmCall", "config": config})
    graph["edges"].append(
        {
            "id": "e3",
            "source": "reset",
            "sourceHandle": "instruction",
            "target": "ask",
            "targetHandle": "plan",
        }
    )
    file = control.root / "asking.json"
    file.write_text(json.dumps(graph))
    return control.check(str(file))


def test_a_graph_that_asks_a_known_model_is_good(control: LocalControl) -> None:
    assert asking(control, profile="local").problems == []
    assert asking(control, profile="__direct__", provider="local", model="other").problems == []


@pytest.mark.parametrize(
    ("settings", "config", "message", "remedy"),
    [
        (SETTINGS, {"profile": "gpt5-mini"}, "there is no profile 'gpt5-mini'", "did you mean 'gpt-5-mini'"),
        (
            SETTINGS,
            {"profile": "__direct__", "provider": "loca"},
            "no profile 'loca'",
            "did you mean 'local'",
        ),
        (SETTINGS, {}, "none of the profiles gpt-5-mini, local is active", "say active = true in one"),
        (None, {}, "there is no profile of a model", "add [profiles.NAME] to evaltower.toml"),
    ],
)
def test_a_profile_that_is_not_there_is_a_problem(
    control: LocalControl, settings: str | None, config: dict[str, Any], message: str, remedy: str
) -> None:
    report = asking(control, settings, **config)
    assert [(missing.kind, missing.wanted) for missing in report.missing] == [("profile", ["ask"])]
    with pytest.raises(RefusedError) as refused:
        control.start(StartRequest(graph_name=report.path))
    (problem,) = refused.value.problems
    assert (problem.code, problem.where, problem.severity) == ("unknown-profile", "node 'ask'", "error")
    assert message in problem.message
    assert remedy in problem.remedy


def test_a_key_that_is_not_set_here_is_a_warning(
    control: LocalControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (problem,) = asking(control, profile="gpt-5-mini").problems
    assert (problem.code, problem.severity) == ("no-api-key", "warning")
    assert "NOT_SET_HERE is not set" in problem.message
    monkeypatch.setenv("NOT_SET_HERE", "sk-1234567890")
    assert asking(control, profile="gpt-5-mini").problems == []


def test_settings_that_cannot_be_used_refuse_every_start(control: LocalControl) -> None:
    (control.root / "evaltower.toml").write_text("[profile.x]\n")
    with pytest.raises(RefusedError, match=r"evaltower\.toml: there is no section 'profile'"):
        control.start(StartRequest(graph_name="toy"))


def profiles(control: LocalControl, settings: str) -> dict[str, DoctorItem]:
    (control.root / "evaltower.toml").write_text(settings)
    return {item.name: item for item in control.doctor() if item.name.startswith(("profile", "evaltower"))}


def profile(name: str, url: str, model: str = "tiny", key: str = "") -> str:
    return f'[profiles.{name}]\nbase_url = "{url}"\nmodel = "{model}"\napi_key_env = "{key}"\n'


def test_doctor_probes_every_profile(control: LocalControl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOD_KEY", "sk-0123456789")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    with chat_server(models=("tiny", "small")) as good, chat_server(models=()) as silent:
        found = profiles(
            control,
            profile("good", good.url, key="GOOD_KEY")
            + profile("typo", good.url, model="tinny")
            + profile("other", good.url, model="gpt-5")
            + profile("unnamed", silent.url)
            + profile("keyless", good.url, key="NOT_SET_HERE")
            + profile("away", nobody),
        )
        keys = [request.headers.get("Authorization") for request in good.asked]  # in any order
        assert [key for key in keys if key is not None] == ["Bearer sk-0123456789"]
    assert found["profile good"].state == found["profile unnamed"].state == "ok"
    assert found["profile good"].detail == f"tiny at {good.url}"
    told = {name: (item.state, item.detail, item.remedy) for name, item in found.items()}
    assert told["profile typo"] == ("warning", f"{good.url} does not list 'tinny'", "did you mean 'tiny'?")
    assert told["profile other"][2] == "it lists tiny, small"
    assert "NOT_SET_HERE is not set" in told["profile keyless"][1]
    assert "the connection failed (ConnectError" in told["profile away"][1]
    assert "sk-0123456789" not in str(told)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "set api_key_env"), (404, "usually ends in /v1"), (500, "the server's own log")],
)
def test_doctor_tells_how_a_server_refuses(control: LocalControl, status: int, remedy: str) -> None:
    with chat_server() as server:
        server.probes.append(fails(status))
        (item,) = profiles(control, profile("local", server.url)).values()
    assert (item.state, f"HTTP {status}" in item.detail) == ("warning", True)
    assert remedy in item.remedy


def test_doctor_names_what_is_wrong_with_the_settings(control: LocalControl) -> None:
    (item,) = profiles(control, "[profile.x]\n").values()
    assert (item.name, item.state) == ("evaltower.toml", "failure")


def test_doctor_says_nothing_of_profiles_where_there_are_none(control: LocalControl) -> None:
    assert profiles(control, "[ui]\n") == {}


def test_the_file_is_looked_for_in_the_root(control: LocalControl, tmp_path: Path) -> None:
    (tmp_path / "evaltower.toml").write_text("[nonsense]\n")
    assert control.check("toy").ok
