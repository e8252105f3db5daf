"""The chat models of a run: looked up before its first episode, so that none begins without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.graph.model import Graph
from engine.graph.names import node_name
from engine.models.client import ChatClient
from engine.models.errors import ProfileError
from engine.models.profiles import asked_for
from engine.store.environment_record import ModelRecord
from engine.store.keys import Keys, withhold
from engine.store.rundir import RunDir
from engine.store.settings import read_settings


def open_chat(
    run: RunDir, graph: Graph, guard: Callable[[], object] | None = None
) -> tuple[ChatClient, Keys]:
    """The run's chat client, for the profiles of its root, and their keys: from now on nothing that is
    started has them. ``guard`` raises where nothing may be written any more. Raises SettingsError, and
    ProfileError for a node whose profile is not there or has no key."""
    profiles = read_settings(run.root).profiles
    keys = withhold(profiles)
    chat = ChatClient(profiles, run.root, run.model_cache, environ=keys.environ, before_write=guard)
    for node_id, profile, model in _calls(graph):
        try:
            chat.endpoint(profile, model)
        except ProfileError as error:
            raise ProfileError(f"{node_name(node_id)}: {error.message}", error.remedy) from None
    return chat, keys


def longest_calls_sec(chat: ChatClient, graph: Graph) -> float:
    """Wall seconds that all calls of one step can take at most."""
    return sum(chat.endpoint(profile, model).longest_call_sec for _, profile, model in _calls(graph))


def model_records(chat: ChatClient) -> list[ModelRecord]:
    """What environment.json says of the models."""
    return [
        ModelRecord(
            profile=endpoint.name,
            model=endpoint.profile.model,
            base_url=endpoint.profile.base_url,
            determinism=endpoint.profile.determinism,
        )
        for endpoint in chat.endpoints
    ]


def _calls(graph: Graph) -> Iterator[tuple[str, str, str]]:
    for node in graph.nodes:
        if node.type == "llmCall":
            yield (node.id, *asked_for(node.config))
