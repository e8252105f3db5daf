"""REST calls that run as they are pasted."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tui.rest_calls import API, Rest


def test_it_runs_in_any_folder_and_shows_no_token(tmp_path: Path) -> None:
    root = tmp_path / "a root"
    (root / "outputs").mkdir(parents=True)
    (root / "outputs" / "token").write_text("secret\n")
    call = Rest("http://127.0.0.1:8765", root).call("POST", f"{API}/start", '{"label": "it\'s"}')
    assert "secret" not in call
    shell = f"curl() {{ printf '%s\\n' \"$@\"; }}\n{call}"
    told = subprocess.run(["bash", "-c", shell], cwd="/", capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == [
        *("-X", "POST", "-H", "Authorization: Bearer secret", "http://127.0.0.1:8765/api/eval/v2/start"),
        *("-H", "Content-Type: application/json", "-d", '{"label": "it\'s"}'),
    ]


def test_without_a_backend_it_says_what_is_missing() -> None:
    lines = Rest("", Path("/r")).call("GET", f"{API}/queue").splitlines()
    assert lines[0] == "# no backend answers now: BACKEND_URL is the url in /r/outputs/backend.json"
    assert lines[1].endswith('"$BACKEND_URL/api/eval/v2/queue"')
