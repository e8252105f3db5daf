"""The browser of this process, and the task in it."""

from __future__ import annotations

import functools
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Callable

from engine.components import SeededStage, foreign_imports

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class BrowserStage(SeededStage):
    """Playwright's calls have to come from one thread, and from none that has a loop: this one's own."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = ThreadPoolExecutor(1, "browser")
        self._env: Any = None
        self.task = ""

    def set_up(self) -> None:
        task = self.text("task") or "miniwob.click-test"
        if task != self.task:
            self.task = ""
            self._do(self._open, task)
            self.task = task
        self.restart()

    def restart(self) -> None:
        """Load the episode's page anew, in a new browser."""
        seed = self.number("seed") % 2**31
        self.observation, _ = self._do(self._env.reset, seed)
        self.steps, self.total, self.terminated, self.truncated = 0, 0.0, False, False

    def act(self, action: str) -> float:
        """One action in BrowserGym's words, such as ``click('12')``; its reward. What cannot be done is in
        ``seen``'s ``error``. RuntimeError once the episode has ended."""
        if self.terminated or self.truncated:
            raise RuntimeError("the episode is over: reset it first")
        self.observation, reward, ended, limit, _ = self._do(self._env.step, action)
        self.steps, self.total = self.steps + 1, self.total + float(reward)
        self.terminated, self.truncated = bool(ended), bool(limit)
        return float(reward)

    def seen(self) -> dict[str, Any]:
        """``axtree``: the page's accessibility tree as text, with the ids (``bid``) that actions name."""
        from browsergym.utils.obs import flatten_axtree_to_str

        told, extra = self.observation, self.observation["extra_element_properties"]
        tree = flatten_axtree_to_str(told["axtree_object"], extra, filter_visible_only=True)
        return {
            "axtree": tree,
            "rgb": told["screenshot"],
            "url": told["url"],
            "error": told["last_action_error"],
        }

    def facts(self) -> dict[str, Any]:
        if not self.task:
            return {}
        told = {"episode_id": f"{self.task}#{self.number('seed')}", "scene_id": self.task}
        return dict(told, instruction=self.observation["goal"])

    def metrics(self) -> dict[str, float]:
        """``success``: the task's reward came to more than 0."""
        return {"success": float(self.total > 0), "return": self.total, "length": float(self.steps)}

    def close(self) -> None:
        if self._env is not None:
            self._do(self._env.close)
            self._do(_playwright().stop)
        self._env, self.task = None, ""
        self._thread.shutdown()

    def _do(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return self._thread.submit(call, *arguments).result()

    def _open(self, task: str) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
        with foreign_imports():
            import_module(f"browsergym.{task.partition('.')[0]}")
            import gymnasium
        if f"browsergym/{task}" not in gymnasium.registry:
            raise ValueError(f"task {task!r} is none of BrowserGym's, such as miniwob.click-test")
        pages = find_spec("miniwob")
        if pages is not None and pages.submodule_search_locations:
            folder = os.path.join(pages.submodule_search_locations[0], "html", "miniwob")
            os.environ.setdefault("MINIWOB_URL", f"file://{folder}/")
        self._env = gymnasium.make(f"browsergym/{task}").unwrapped
        _playwright()


@functools.lru_cache(maxsize=1)
def _playwright() -> Any:
    """BrowserGym's one, that starts the system's Chromium: it would look for one of its own, which pip does
    not bring, and its chat window cannot be told another."""
    core = import_module("browsergym.core")
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        raise ImportError(
            "there is no Chromium on the PATH: apt-get install --no-install-recommends chromium"
        )
    playwright = core._get_global_playwright()
    kind = playwright.chromium
    kind.launch = functools.partial(kind.launch, executable_path=browser)
    return playwright
