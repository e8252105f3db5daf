from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.control.root import find_root, note_of_root


def test_what_is_given_comes_first(tmp_path: Path) -> None:
    environ = {"EVALTOWER_ROOT": str(tmp_path / "b")}
    assert find_root(str(tmp_path / "a"), environ, tmp_path) == tmp_path / "a"
    assert find_root(None, environ, tmp_path) == tmp_path / "b"


def test_the_nearest_parent_with_a_mark(tmp_path: Path) -> None:
    deep = tmp_path / "one" / "two" / "three"
    deep.mkdir(parents=True)
    (tmp_path / "evaltower.toml").touch()
    assert find_root(None, {}, deep) == tmp_path
    (tmp_path / "one" / "outputs").mkdir()
    assert find_root(None, {}, deep) == tmp_path / "one"


def test_without_a_mark_the_current_folder(tmp_path: Path) -> None:
    assert find_root(None, {}, tmp_path) == tmp_path


def test_without_a_mark_the_root_of_the_one_live_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALTOWER_LEDGER", str(tmp_path / "ledger"))
    here = tmp_path / "here"
    here.mkdir()
    with written(tmp_path / "ledger", "/root/of/one"):
        assert find_root(None, {}, here) == Path("/root/of/one")
        assert note_of_root(Path("/root/of/one"), None, {}, here) == ""
        (here / "workspace").mkdir()
        assert note_of_root(Path("/root/of/one"), None, {}, here) == (
            f"the root is /root/of/one, of your one live backend; for the workspace/ here, give --root {here}"
        )
        assert note_of_root(Path("/root/of/one"), "/root/of/one", {}, here) == ""
        assert note_of_root(here, None, {}, here) == ""
        with written(tmp_path / "ledger", "/root/of/another"):
            assert find_root(None, {}, here) == here
    assert find_root(None, {}, here) == here


@contextmanager
def written(folder: Path, root: str) -> Iterator[None]:
    """A process that lives has said that it is the backend of ``root``."""
    code = (
        "import sys; from pathlib import Path; from engine.scheduling.ledger import Entry, Ledger\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "with ledger.turn(5) as turn: turn.publish(Entry(process=ledger.process, root=sys.argv[2]))\n"
        "print('written', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(folder), root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        yield
        process.kill()
