from __future__ import annotations

from pathlib import Path

from engine.control.root import find_root


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
