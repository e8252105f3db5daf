"""REST calls as a shell carries them out: to the backend that is alive, with its token read where it lies."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

API = "/api/eval/v2"
UNKNOWN = "# no backend answers now: BACKEND_URL is the url in {file}"


@dataclass(frozen=True)
class Rest:
    """url: of the backend; "" where none is known. root: whose it is."""

    url: str
    root: Path

    def call(self, method: str, path: str, body: str = "") -> str:
        """With curl."""
        token = shlex.quote(str(self.root / "outputs" / "token"))
        where = shlex.quote(f"{self.url}{path}") if self.url else f'"$BACKEND_URL{path}"'
        sent = f" -H 'Content-Type: application/json' -d {shlex.quote(body)}" if body else ""
        note = "" if self.url else UNKNOWN.format(file=self.root / "outputs" / "backend.json") + "\n"
        return f'{note}curl -X {method} -H "Authorization: Bearer $(cat {token})" {where}{sent}'

    def calls(self, command: str, method: str, path: str, body: str = "") -> str:
        """The command line, and the same over REST."""
        return f"evaltower {command}\n{self.call(method, path, body)}"

    def log(self, run_id: str, episode: str) -> str:
        """An episode's log, by its folder's name."""
        command = f"log {shlex.quote(run_id)} {shlex.quote(episode)}"
        return self.calls(command, "GET", f"{API}/runs/{run_id}/episodes/{episode}/log")
