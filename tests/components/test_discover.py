import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.components import scan_process
from engine.components.catalog import HiddenNodeset
from engine.components.discover import discover
from engine.components.loading import source_hash
from engine.components.roots import NodesetRoot, graph_files
from engine.graph.model import Node
from tests.components.sources import HEAD, nodeset, tool, whole, write

REPOSITORY = Path(__file__).parents[2]
DYNAMIC = """
    default_config = {"names": ["a"]}

    @classmethod
    def _resolve_ports(cls, config):
        return [PortDef(name, "TEXT") for name in config["names"]], []
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def scanned(monkeypatch):
    """The files that scan processes were started for."""
    paths = []
    real = scan_process.run_scans

    def counting(requests, deadline):
        paths.extend(Path(request.path).name for request in requests)
        return real(requests, deadline)

    monkeypatch.setattr(scan_process, "run_scans", counting)
    return paths


def root(folder, origin="workspace"):
    return NodesetRoot(origin, (folder / "nodesets",), folder / "graphs")


def errors(catalog):
    return [(Path(failure.path).name, failure.error) for failure in catalog.failures]


def test_nodesets_are_found_with_their_graphs_and_tools(tmp_path, cache):
    home = write(tmp_path / "nodesets" / "env_a" / "__init__.py", whole("env_a")).parent
    write(home / "graphs" / "follow.json", "{}")
    write(tmp_path / "nodesets" / "group" / "env_b.py", whole("env_b"))
    write(tmp_path / "graphs" / "vln" / "mine.json", "{}")
    write(tmp_path / "graphs" / "follow.json", "{}")
    catalog = discover([root(tmp_path)], cache)
    assert (sorted(catalog.nodesets), catalog.failures, catalog.hidden) == (["env_a", "env_b"], (), ())
    found = catalog.nodesets["env_a"]
    assert (found.path, found.origin, len(found.source_hash)) == (str(home), "workspace", 32)
    assert found.graphs == (str(home / "graphs" / "follow.json"),)
    assert catalog.graphs == {
        "vln/mine": str(tmp_path / "graphs" / "vln" / "mine.json"),
        "mine": str(tmp_path / "graphs" / "vln" / "mine.json"),
        "follow": str(tmp_path / "graphs" / "follow.json"),
    }
    assert catalog.known_types() == ["env_a__step", "env_b__step"]
    ports = catalog.resolve(Node("n", "env_a__step"))
    assert [p.name for p in ports.inputs] == ["action", "hint"]
    assert catalog.resolve(Node("n", "env_a__gone")) is None
    assert catalog.resolve(Node("n", "iterIn")) is None


def test_a_file_that_fails_is_listed_and_disturbs_nothing(tmp_path, cache):
    write(tmp_path / "nodesets" / "env_a.py", whole("env_a"))
    write(tmp_path / "nodesets" / "env_b.py", "import no_such_library\n" + whole("env_b"))
    write(tmp_path / "nodesets" / "env_c.py", whole("env_c", body="parallelism = 'sharded'"))
    write(tmp_path / "nodesets" / "env_d.py", "while True: pass  # BaseNodeSet")
    catalog = discover([root(tmp_path)], cache, deadline=5.0)
    assert list(catalog.nodesets) == ["env_a"]
    assert [name for name, _ in errors(catalog)] == ["env_b.py", "env_c.py", "env_d.py"]
    assert "No module named 'no_such_library'" in catalog.failures[0].error
    assert catalog.failures[1].error == "class Env, parallelism: Invalid enum value 'sharded'"
    assert catalog.failures[2].error == "importing it took longer than 5 s"


@pytest.mark.slow
def test_an_import_that_never_ends_costs_its_deadline_once(tmp_path, cache, scanned, monkeypatch):
    path = write(tmp_path / "nodesets" / "env_a.py", "while True: pass  # BaseNodeSet")
    first = discover([root(tmp_path)], cache, deadline=2.0)
    again = discover([root(tmp_path)], cache, deadline=2.0)
    assert errors(first) == [("env_a.py", "importing it took longer than 2 s")]
    assert errors(again)[0][1].startswith("importing it took longer than 2 s; tried again 120 s later")
    assert scanned == ["env_a.py"]
    later = time.time() + 121
    with monkeypatch.context() as at:
        at.setattr(time, "time", lambda: later)
        assert errors(discover([root(tmp_path)], cache, deadline=2.0)) == errors(first)
    write(path, whole("env_a"))
    assert list(discover([root(tmp_path)], cache).nodesets) == ["env_a"]
    assert scanned == ["env_a.py"] * 3


def test_a_file_without_a_nodeset_of_its_own_is_passed_over(tmp_path, cache):
    write(tmp_path / "nodesets" / "helper.py", "from engine.components import BaseNodeSet\n")
    catalog = discover([root(tmp_path)], cache)
    assert (catalog.nodesets, catalog.failures) == ({}, ())


def test_the_first_root_to_have_a_name_hides_the_others(tmp_path, cache):
    origins = ["overlay", "workspace", "package", "builtin"]
    for origin in origins:
        write(tmp_path / origin / "nodesets" / "env_a.py", whole("env_a", body=f"description = {origin!r}"))
    catalog = discover([root(tmp_path / origin, origin) for origin in origins], cache)
    assert catalog.nodesets["env_a"].description == "overlay"
    first = str(tmp_path / "overlay" / "nodesets" / "env_a.py")
    hidden = [tmp_path / origin / "nodesets" / "env_a.py" for origin in origins[1:]]
    assert catalog.hidden == tuple(
        HiddenNodeset("env_a", str(path), origin, first, source_hash(path))
        for path, origin in zip(hidden, origins[1:], strict=True)
    )


def test_a_broken_nodeset_is_not_replaced_by_the_one_it_hid(tmp_path, cache):
    broken = write(tmp_path / "mine" / "nodesets" / "env_a.py", "1 / 0  # BaseNodeSet")
    write(tmp_path / "theirs" / "nodesets" / "env_a.py", whole("env_a"))
    catalog = discover([root(tmp_path / "mine"), root(tmp_path / "theirs", "builtin")], cache)
    assert catalog.nodesets == {}
    assert [(h.name, h.hidden_by) for h in catalog.hidden] == [("env_a", str(broken))]


@pytest.mark.parametrize("apart", [True, False])
def test_two_nodesets_of_one_name_in_one_root_are_a_failure_that_names_both(tmp_path, cache, apart):
    folder = tmp_path / "nodesets"
    if apart:
        write(folder / "one.py", whole("env_a"))
        write(folder / "two.py", whole("env_a"))
    else:
        text = HEAD + tool("env_a__step") + nodeset("env_a", "First") + nodeset("env_a", "Second")
        write(folder / "one.py", text)
    write(tmp_path / "theirs" / "nodesets" / "env_a.py", whole("env_a"))
    catalog = discover([root(tmp_path), root(tmp_path / "theirs", "builtin")], cache)
    assert catalog.nodesets == {}
    names = ("class Env in {}/one.py", "class Env in {}/two.py")
    if not apart:
        names = ("class First in {}/one.py", "class Second in {}/one.py")
    message = " and ".join(names).format(folder, folder)
    assert {failure.error for failure in catalog.failures} == {
        f"nodeset 'env_a' is declared by {message}: rename all but one"
    }
    assert [Path(failure.path).name for failure in catalog.failures] == (
        ["one.py", "two.py"] if apart else ["one.py"]
    )
    assert [hidden.origin for hidden in catalog.hidden] == ["builtin"]


def test_only_what_changed_is_scanned_again(tmp_path, cache, scanned):
    for name in ("env_a", "env_b"):
        write(tmp_path / "nodesets" / f"{name}.py", whole(name))
    write(tmp_path / "nodesets" / "broken.py", "1 / 0  # BaseNodeSet")
    first = discover([root(tmp_path)], cache)
    assert sorted(scanned) == ["broken.py", "env_a.py", "env_b.py"]
    scanned.clear()
    again = discover([root(tmp_path)], cache)
    assert scanned == ["broken.py"]
    assert (again.nodesets, again.failures) == (first.nodesets, first.failures)
    scanned.clear()
    write(tmp_path / "nodesets" / "env_b.py", whole("env_b", body="description = 'new'"))
    write(tmp_path / "nodesets" / "broken.py", whole("env_c"))
    changed = discover([root(tmp_path)], cache)
    assert sorted(scanned) == ["broken.py", "env_b.py"]
    assert changed.nodesets["env_b"].description == "new"
    assert changed.nodesets["env_b"].source_hash != first.nodesets["env_b"].source_hash
    assert len(list(cache.iterdir())) == 3


def test_another_interpreter_in_the_environment_means_another_scan(tmp_path, cache, scanned, monkeypatch):
    text = whole("env_a", body="import os\nserver_python = os.environ.get('EVT_TEST_PYTHON')")
    write(tmp_path / "nodesets" / "env_a.py", text)
    assert discover([root(tmp_path)], cache).nodesets["env_a"].server_python is None
    monkeypatch.setenv("EVT_TEST_PYTHON", "/opt/python")
    assert discover([root(tmp_path)], cache).nodesets["env_a"].server_python == "/opt/python"
    assert scanned == ["env_a.py"] * 2


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"[]", b'{"key": "other", "manifests": []}'])
def test_a_damaged_cache_entry_is_ignored_and_rewritten(tmp_path, cache, scanned, damage):
    write(tmp_path / "nodesets" / "env_a.py", whole("env_a"))
    first = discover([root(tmp_path)], cache)
    (entry,) = cache.iterdir()
    sound = entry.read_bytes()
    entry.write_bytes(damage)
    assert discover([root(tmp_path)], cache).nodesets == first.nodesets
    assert len(scanned) == 2
    assert entry.read_bytes() == sound


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, scanned, caplog):
    write(tmp_path / "nodesets" / "env_a.py", whole("env_a"))
    blocked = write(tmp_path / "blocked", "a file") / "manifests"
    for _ in range(2):
        assert list(discover([root(tmp_path)], blocked).nodesets) == ["env_a"]
    assert len(scanned) == 2
    assert "manifests cannot be kept in" in caplog.text


def test_a_source_that_changes_under_its_scan_is_not_kept(tmp_path, cache, scanned):
    text = whole("env_a") + "\nopen(__file__, 'a').write('#')\n"
    write(tmp_path / "nodesets" / "env_a.py", text)
    discover([root(tmp_path)], cache)
    assert not cache.exists()


def test_a_file_that_cannot_be_read_is_a_failure(tmp_path, cache, monkeypatch):
    path = write(tmp_path / "nodesets" / "env_a.py", whole("env_a"))
    real = Path.read_bytes

    def refusing(self):
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", refusing)
    catalog = discover([root(tmp_path)], cache)
    assert errors(catalog) == [("env_a.py", f"it cannot be read: [Errno 13] Permission denied: '{path}'")]


def dynamic(tmp_path):
    text = HEAD + tool("env_a__merge", body=DYNAMIC) + nodeset("env_a")
    return write(tmp_path / "nodesets" / "env_a.py", text)


def input_names(catalog, **config):
    return [port.name for port in catalog.resolve(Node("n", "env_a__merge", config=config)).inputs]


def test_ports_that_depend_on_the_config_are_asked_for_once(tmp_path, cache, scanned):
    dynamic(tmp_path)
    catalog = discover([root(tmp_path)], cache)
    scanned.clear()
    assert input_names(catalog) == ["a"]
    assert input_names(catalog, names=["x", "y"]) == ["x", "y"]
    assert input_names(catalog, names=["x", "y"]) == ["x", "y"]
    assert len(scanned) == 2
    anew = discover([root(tmp_path)], cache)
    assert input_names(anew, names=["x", "y"]) == ["x", "y"]
    assert len(scanned) == 2


def test_a_config_that_a_tool_refuses_is_an_error_that_names_its_line(tmp_path, cache):
    path = dynamic(tmp_path)
    catalog = discover([root(tmp_path)], cache)
    with pytest.raises(ValueError) as caught:
        input_names(catalog, names=3)
    assert str(caught.value).startswith(f"{path}: TypeError: 'int' object is not iterable (env_a.py, line ")


def test_a_warm_discovery_starts_no_process_and_imports_little(tmp_path, cache):
    for i in range(10):
        write(tmp_path / "nodesets" / f"env_{i}.py", "import numpy\n" + whole(f"env_{i}"))
    discover([root(tmp_path)], cache)
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from engine.components.discover import discover\n"
        "from engine.components.roots import NodesetRoot\n"
        "catalog = discover([NodesetRoot('w', (Path(sys.argv[1]),))], Path(sys.argv[2]))\n"
        "print(json.dumps([len(catalog.nodesets), sorted(sys.modules)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "nodesets"), str(cache)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=dict(os.environ, PYTHONPATH=str(REPOSITORY)),
    )
    count, modules = json.loads(done.stdout)
    assert count == 10
    unwanted = {"numpy", "torch", "aiohttp", "asyncio", "subprocess", "engine.components.scan_process"}
    assert unwanted.isdisjoint(modules)
    assert not [name for name in modules if name.startswith("_nodeset_")]


def test_discovery_imports_no_nodeset_here(tmp_path, cache):
    write(tmp_path / "nodesets" / "env_never_here.py", whole("env_never_here"))
    dynamic(tmp_path)
    input_names(discover([root(tmp_path)], cache))
    assert not [name for name in sys.modules if "env_never_here" in name or name == "_nodeset_env_a"]


def test_a_folder_named_like_a_graph_is_no_graph(tmp_path: Path) -> None:
    (tmp_path / "odd.json").mkdir()
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "good.json").write_text("{}")
    assert graph_files(tmp_path) == [tmp_path / "good.json"]
