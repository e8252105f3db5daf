from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy
import pytest

import engine
from engine.components.catalog import NodesetManifest
from engine.components.requirements import Program, needs_module, needs_program
from engine.control import doctor, doctor_extras
from engine.control.reader import Reader
from tests.fakes.finished_runs import make_run
from tests.fakes.workspace import NODESET


def test_it_looks_at_everything_and_writes_nothing(reader: Reader) -> None:
    items = {item.name: item for item in reader.doctor()}
    assert items["processes"].state == "ok"
    assert "env_toy" in items["nodesets"].detail
    assert items["runs"].detail.startswith("0 in all")
    assert not (reader.root / "outputs").exists()


def test_what_would_stop_a_run_is_named(reader: Reader) -> None:
    run = make_run(reader.root)
    run.done.unlink()
    nodesets = reader.root / "workspace" / "nodesets"
    (nodesets / "broken.py").write_text("from engine.components import BaseNodeSet\n1 / 0\n")
    (nodesets / "env_toy.py").write_text(
        NODESET.replace('name = "env_toy"', 'name = "env_toy"\n    server_python = "/no/python"')
    )
    items = {item.name: item for item in reader.doctor()}
    assert "1 aborted" in items["runs"].detail
    assert "ZeroDivisionError" in items["nodeset failed to load"].detail
    assert "/no/python" in items["interpreter of env_toy"].detail


def test_what_a_nodeset_needs_is_one_line_where_all_is_there_and_else_one_for_each(reader: Reader) -> None:
    nodesets = reader.root / "workspace" / "nodesets"
    asks = "    def requirements(self):\n        from engine.components import needs_module, needs_path\n"
    (nodesets / "env_toy.py").write_text(
        f"{NODESET}\n{asks}"
        '        return [needs_module("msgspec", ""), needs_path("data", "/no/data", "get it")]\n'
    )
    (nodesets / "env_other.py").write_text(
        NODESET.replace("env_toy", "env_other") + f'\n{asks}        return [needs_module("msgspec", "")]\n'
    )
    told = [item for item in reader.doctor() if item.name in ("needs of env_toy", "needs of env_other")]
    assert [(item.name, item.state) for item in told] == [
        ("needs of env_other", "ok"),
        ("needs of env_toy", "warning"),
    ]
    assert "module msgspec" in told[0].detail
    assert (told[1].detail, told[1].remedy) == ("data: /no/data is not there", "get it")


def test_each_extra_is_told_with_what_it_brings_and_how_to_get_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor_extras, "installed", lambda name: "1.2" if name != "silero-vad" else None)
    items = {item.name: item for item in doctor_extras.extras()}
    assert items["extra video"].detail == "mp4 of an episode: av 1.2"
    assert items["extra video"].remedy == ""
    assert items["extra models"].detail.endswith("transformers 1.2; not installed: silero-vad")
    assert items["extra models"].remedy == "pip install 'evaltower[models]'"
    assert {item.state for item in items.values()} == {"ok"}


def test_the_extras_are_those_of_the_project() -> None:
    project = Path(engine.__file__).parents[1] / "pyproject.toml"
    declared = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    asked = {
        name: {re.match(r"[\w-]+", wanted)[0] for wanted in asks} - {"evaltower"}  # type: ignore[index]
        for name, asks in declared.items()
        if name not in ("test", "testing")
    }
    assert {name: set(packages) for name, (_, packages) in doctor_extras.EXTRAS.items()} == asked


def test_a_version_stands_apart_from_what_it_is_of() -> None:
    manifest = NodesetManifest(
        name="needy", path="needy", class_name="Needy", parallelism="shared", parallelism_assumed=False
    )
    needs = [needs_module("numpy", "", "some games"), needs_program(Program(("sh",), "", {}, "others"))]
    (item,) = doctor._needs(manifest, needs)
    told = f"module numpy, for some games alone: {numpy.__version__}; program sh, for others alone: /"
    assert told in item.detail


def test_packages_alone_are_looked_for_and_java_is_known(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    packages = 'packages = (Package(("msgspec",), ""), Package(("toy_lib",), "get it", {"task": "x"}, "x"))'
    source = NODESET.replace("import BaseCanvasNode", "import Package, BaseCanvasNode")
    source = source.replace('name = "env_toy"\n    desc', f'name = "env_toy"\n    {packages}\n    desc')
    (reader.root / "workspace" / "nodesets" / "env_toy.py").write_text(source)
    told = {(item.name, item.detail): (item.state, item.remedy) for item in reader.doctor()}
    found = told["needs of env_toy", "module toy_lib, for x alone: not installed"]
    assert found == ("warning", "get it")
    java = told["needs of env_textgame", "program java, for ScienceWorld alone: not on the PATH"]
    assert java == ("warning", "apt-get install --no-install-recommends default-jre-headless")
    extensions = [detail for _, detail in told if detail.startswith("module habitat_extensions")]
    assert extensions[0].startswith("module habitat_extensions, for VLN-CE alone: ModuleNotFoundError")
