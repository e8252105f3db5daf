"""Which versions are installed, of what a nodeset stands on, without importing any of it."""

from __future__ import annotations

import sys
from pathlib import Path

import aiohttp
import msgspec
import numpy
import pytest

from engine.components import BaseCanvasNode, BaseNodeSet, Package
from engine.components.versions import installed_versions
from engine.hosting.host_manifest import versions_here

WILD = "raise RuntimeError('nobody imports it to learn its version')\n"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(library: Path, name: str, version: str, module: str, **files: str) -> None:
    """A distribution as pip leaves it, whose module must not be imported."""
    path = library.joinpath(*module.split("."))
    path.mkdir(parents=True)
    (path / "__init__.py").write_text(WILD)
    home = library / f"{name.replace('-', '_')}-{version}.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    for file, content in files.items():
        (home / file.replace("_txt", ".txt")).write_text(content)


def versions(*modules: str, stands_on: tuple[str, ...] = ()) -> dict[str, str]:
    return installed_versions([Package((module,), "", stands_on=stands_on) for module in modules])


def test_a_module_is_found_by_its_distribution_and_by_what_another_has_brought(library: Path) -> None:
    install(library, "toy-sim", "3.3.0", "toy_sim")
    install(library, "toys-of-wood", "0.2", "wooden", RECORD="wooden/__init__.py,,\n")
    install(library, "toys-of-tin", "0.3", "tin", top_level_txt="tin\n")
    install(library, "toy.world-web", "7", "toyworld.web", RECORD="toyworld/web/__init__.py,,\n")
    found = versions("toy_sim", "wooden", "tin", "toyworld.web", "wood")
    assert found == {"toy-sim": "3.3.0", "toys-of-wood": "0.2", "toys-of-tin": "0.3", "toy.world-web": "7"}


def test_what_it_stands_on_counts_and_of_alternatives_all_that_are_there(library: Path) -> None:
    install(library, "engine-below", "4.0", "engine_below")
    install(library, "old-toy", "0.26", "old_toy")
    package = Package(("new_toy", "old_toy"), "", stands_on=("engine_below", "no_such"))
    assert installed_versions([package]) == {"old-toy": "0.26", "engine-below": "4.0"}


def test_what_has_no_version_is_left_out_and_what_is_broken_harms_nothing(library: Path) -> None:
    (library / "a_folder").mkdir()
    (library / "a_file.py").write_text(WILD)
    (library / "half_removed-1.0.dist-info").mkdir()
    (library / "half_removed.py").write_text(WILD)
    install(library, "toy-sim", "3.3.0", "toy_sim")
    assert versions("a_folder", "a_file", "half_removed", "no.such", "toy_sim") == {"toy-sim": "3.3.0"}


def test_a_place_of_its_own_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("TOY_ROOT", str(tmp_path))
    (tmp_path / "built").mkdir()
    install(tmp_path / "built", "toy-sim", "1.1", "toy_sim")
    assert installed_versions([Package(("toy_sim",), "", beside="TOY_ROOT/built")]) == {"toy-sim": "1.1"}


def test_a_hosted_nodeset_tells_them_beside_its_host_s(library: Path) -> None:
    class Toy(BaseNodeSet):
        name = "env_toy"
        packages = (Package(("toy_sim",), "", {"task": "none"}),)

        def get_tools(self) -> list[BaseCanvasNode]:
            return []

    install(library, "toy-sim", "3.3.0", "toy_sim")
    told = versions_here(Toy())
    assert told.pop("python").startswith("3.")
    hosts = {"aiohttp": aiohttp.__version__, "msgspec": msgspec.__version__, "numpy": numpy.__version__}
    assert told == {**hosts, "toy-sim": "3.3.0"}


def test_what_it_stands_on_is_a_tuple_of_names() -> None:
    with pytest.raises(TypeError, match="a Package's stands_on are a tuple of names, not 'mujoco'"):
        Package(("metaworld",), "", stands_on="mujoco")  # type: ignore[arg-type]
