"""A vision-language model behind any OpenAI-compatible server, as a node that names its server itself.

It asks by Evaltower's own chat client, so it runs under Evaltower's own interpreter.
"""

from __future__ import annotations

from engine.components import BaseCanvasNode, BaseNodeSet

from .ask import Ask
from .servers import Servers


class VlmOpenAI(BaseNodeSet):
    """One process for all workers: it only waits, for any number of questions at once.

    A key comes from the environment. Where a profile of ``evaltower.toml`` names the variable too, that
    profile's ``key_for`` has to list ``vlm_openai``.
    """

    name = "vlm_openai"
    description = (
        "A vision-language model over an OpenAI-compatible server: images and a prompt to text or JSON"
    )
    parallelism = "shared"
    determinism = "none"
    expected_ram_mb = 100
    # A question may be tried again several times, as late as the server asks.
    default_per_step_budget_sec = 900.0

    def __init__(self) -> None:
        self.servers = Servers()

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Ask(self.servers)]

    async def shutdown(self) -> None:
        await self.servers.close()
