import subprocess
import sys
from pathlib import Path

import pytest

from engine.components.loading import load_classes, load_nodeset, nodeset_home, source_hash
from tests.components.sources import HEAD, nodeset, whole, write

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def forget_what_was_imported(monkeypatch):
    """A process loads one nodeset; this one loads many."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def names(classes):
    return [found.name for found in classes]


def test_a_file_is_loaded_with_its_helpers(tmp_path):
    write(tmp_path / "_words.py", "GREETING = 'hello'")
    write(tmp_path / "numbers_beside.py", "ANSWER = 42")
    body = "description = GREETING + str(numbers_beside.ANSWER)"
    text = "import numbers_beside\nfrom ._words import GREETING\n" + whole("env_file", body=body)
    loaded = load_nodeset(write(tmp_path / "env_file.py", text), "env_file")
    assert loaded.description == "hello42"
    assert type(loaded).__module__ == "_nodeset_env_file"
    assert [type(tool).node_type for tool in loaded.get_tools()] == ["env_file__step"]


@pytest.mark.parametrize("named", [".", "__init__.py"])
def test_a_folder_is_loaded_whole_by_either_name(tmp_path, named):
    folder = tmp_path / "env_folder"
    write(folder / "__init__.py", "from .inner import Env\nfrom house_beside import Other\n")
    write(folder / "inner.py", whole("env_folder"))
    write(folder / "house_beside.py", HEAD + nodeset("other_here", "Other"))
    assert nodeset_home(folder / named) == folder
    assert sorted(names(load_classes(folder / named))) == ["env_folder", "other_here"]


def test_imported_underscored_and_nameless_abstract_classes_do_not_count(tmp_path):
    write(tmp_path / "_base.py", HEAD + nodeset("of_the_helper", "Shared"))
    text = (
        HEAD
        + "from ._base import Shared\n"
        + nodeset("hidden", "_Hidden")
        + "class Abstract(BaseNodeSet):\n    pass\n"
        + nodeset("first", "First")
        + nodeset("second", "Second")
        + "Alias = First\n"
    )
    assert names(load_classes(write(tmp_path / "env_many.py", text))) == ["first", "second"]


def test_a_nodeset_named_after_a_library_does_not_stand_in_for_it(tmp_path):
    path = write(
        tmp_path / "json.py", "import json\n" + whole("env_json", body="description = json.dumps([1])")
    )
    assert load_nodeset(path, "env_json").description == "[1]"
    missing = write(
        tmp_path / "apart" / "no_such_library.py", "import no_such_library\n" + whole("env_missing")
    )
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load_classes(missing)


def test_a_name_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    path = write(tmp_path / "env_here.py", whole("env_here"))
    with pytest.raises(
        ImportError, match=r"env_here\.py: no nodeset named 'env_x'; nodesets there: 'env_here'"
    ):
        load_nodeset(path, "env_x")


def test_a_nodeset_edited_within_a_second_is_loaded_as_it_is_now(tmp_path):
    path = tmp_path / "env_edit.py"
    for text in ("one", "two"):
        write(path, whole("env_edit", body=f"description = {text!r}"))
        assert load_nodeset(path, "env_edit").description == text


def test_the_hash_of_a_folder_changes_with_every_file_that_makes_it(tmp_path):
    folder = tmp_path / "env"
    write(folder / "__init__.py", "a = 1")
    write(folder / "data" / "house.json", "{}")
    before = source_hash(folder)
    assert source_hash(folder / "__init__.py") == before
    for ignored in ("__pycache__/x.pyc", "graphs/g.json", ".git/HEAD", "data/.cache"):
        write(folder / ignored, "x")
    assert source_hash(folder) == before
    seen = {before}
    write(folder / "data" / "house.json", "{ }")
    seen.add(source_hash(folder))
    (folder / "data" / "house.json").rename(folder / "data" / "other.json")
    seen.add(source_hash(folder))
    write(folder / "data" / "graphs" / "g.json", "only the folder's own graphs are apart")
    seen.add(source_hash(folder))
    assert len(seen) == 4


def test_the_hash_is_of_the_content_wherever_it_lies(tmp_path):
    for place in ("here", "there"):
        write(tmp_path / place / "env" / "__init__.py", "a = 1")
    assert source_hash(tmp_path / "here" / "env") == source_hash(tmp_path / "there" / "env")


def test_the_hash_of_a_file_covers_its_helpers_and_not_its_neighbours(tmp_path):
    path = write(tmp_path / "env.py", "a = 1")
    before = source_hash(path)
    write(tmp_path / "neighbour.py", "")
    assert source_hash(path) == before
    write(tmp_path / "_helper.py", "")
    assert source_hash(path) != before


def test_large_files_are_told_apart_by_size_head_and_tail(tmp_path):
    weights = tmp_path / "env" / "weights.bin"
    content = bytearray(5 << 20)
    hashes = set()
    for at in (None, 0, -1):
        if at is not None:
            content[at] ^= 1
        write(weights.with_name("__init__.py"), "")
        weights.write_bytes(content)
        hashes.add(source_hash(weights.parent))
    weights.write_bytes(content + b"\0")
    hashes.add(source_hash(weights.parent))
    assert len(hashes) == 4


def test_what_cannot_be_read_is_an_error_and_what_is_no_file_is_left_out(tmp_path):
    with pytest.raises(FileNotFoundError):
        source_hash(tmp_path / "gone.py")
    write(tmp_path / "env" / "__init__.py", "")
    before = source_hash(tmp_path / "env")
    (tmp_path / "env" / "dangling").symlink_to(tmp_path / "gone")
    assert source_hash(tmp_path / "env") == before


def interpreters():
    found = Path.home().glob(".pyenv/versions/3.8*/bin/python")
    return [sys.executable, *map(str, found)]


@pytest.mark.parametrize("python", interpreters())
def test_the_host_s_part_of_this_room_runs_under_old_interpreters_too(tmp_path, python):
    path = write(tmp_path / "env_old.py", whole("env_old"))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from engine.components.loading import load_nodeset\n"
        "from engine.components.containers import ContainerStore, RecordingContainers\n"
        "store = ContainerStore([{'id': 'c', 'states': {'s': {'type': 'counter'}}}])\n"
        "there = RecordingContainers(store.export(['c']))\n"
        "there['c'].write('s', 2)\n"
        "store.apply(there.writes)\n"
        "print(load_nodeset(sys.argv[2], 'env_old').name, store.access('c').read('s'))\n"
    )
    done = subprocess.run(
        [python, "-c", code, str(REPOSITORY), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("env_old 2\n", "")
