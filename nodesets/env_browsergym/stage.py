"""The browser of this process, and the task in it."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Callable

from engine.components import Program, SeededStage, foreign_imports

CHROMIUM = Program(
    ("chromium", "chromium-browser", "google-chrome"), "apt-get install --no-install-recommends chromium"
)


class BrowserStage(SeededStage):
    """Playwright's calls have to come from one thread, and from none that has a loop: this one's own."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = ThreadPoolExecutor(1, "browser")
        self._opened = ""

    def set_up(self) -> None:
        task = self.text("task") or "miniwob.click-test"
        if task != self._opened:
            self.task = self._opened = ""
            self._do(self._open, task)
            self._opened = task
        seed = self.number("seed")
        self.observation, _ = self._do(self.env.reset, seed % 2**31)
        self.begin(task, seed, self.observation["goal"])

    def act(self, action: Any) -> float:
        """In BrowserGym's words, such as ``click('12')``. What cannot be done is in ``seen``'s ``error``."""
        self.observation, reward, ended, limit, _ = self._do(self.env.step, str(action))
        self.terminated, self.truncated = bool(ended), bool(limit)
        return float(reward)

    def seen(self) -> dict[str, Any]:
        """``axtree``: the page's accessibility tree as text, with the ids (``bid``) that actions name."""
        from browsergym.utils.obs import flatten_axtree_to_str

        told, extra = self.observation, self.observation["extra_element_properties"]
        tree = flatten_axtree_to_str(told["axtree_object"], extra, filter_visible_only=True)
        return {
            **super().seen(),
            "axtree": tree,
            "rgb": told["screenshot"],
            "url": told["url"],
            "error": told["last_action_error"],
        }

    def metrics(self) -> dict[str, float]:
        """``success``: the task's reward came to more than 0."""
        return {"success": float(self.total > 0), "return": self.total, "length": float(self.steps)}

    def close(self) -> None:
        if self.env is not None:
            self._do(super().close)
            self._do(_playwright().stop)
        self._thread.shutdown()

    def _do(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return self._thread.submit(call, *arguments).result()

    def _open(self, task: str) -> None:
        super().close()
        with foreign_imports():
            import_module(f"browsergym.{task.partition('.')[0]}")
            import gymnasium
        if f"browsergym/{task}" not in gymnasium.registry:
            raise ValueError(f"selector task is {task!r}, none of BrowserGym's, such as miniwob.click-test")
        pages = find_spec("miniwob")
        if pages is not None and pages.submodule_search_locations:
            folder = os.path.join(pages.submodule_search_locations[0], "html", "miniwob")
            os.environ.setdefault("MINIWOB_URL", f"file://{folder}/")
        _playwright()
        self.env = gymnasium.make(f"browsergym/{task}").unwrapped


@functools.lru_cache(maxsize=1)
def _playwright() -> Any:
    """BrowserGym's one, that starts the system's Chromium: it would look for one of its own, which pip does
    not bring, and its chat window cannot be told another."""
    core = import_module("browsergym.core")
    browser = CHROMIUM.path()
    playwright = core._get_global_playwright()
    kind = playwright.chromium
    kind.launch = functools.partial(kind.launch, executable_path=browser)
    return playwright
