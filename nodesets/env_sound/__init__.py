"""Made-up sounds to listen to: is there a voice? An episode is one second; its seed says what is heard.

Pure numpy. Nothing is kept beyond an episode, so one process serves all workers.
"""

from __future__ import annotations

from engine.components import BaseCanvasNode, BaseNodeSet

from .hearing import Detect, Hear


class EnvSound(BaseNodeSet):
    """Voices that sing vowels, hiss and swelling tones, 32 ms at a time."""

    name = "env_sound"
    description = "A second of made-up sound at a time, a voice or none, and whether that was told right"
    parallelism = "shared"
    expected_ram_mb = 60

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Hear(), Detect()]
