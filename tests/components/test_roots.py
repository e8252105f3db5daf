import sys

import pytest

from engine.components.roots import NodesetRoot, candidates, graph_files, standard_roots
from tests.components.sources import whole, write


def found_in(folder):
    return [path.relative_to(folder).as_posix() for path in candidates(NodesetRoot("workspace", (folder,)))]


def test_files_and_folders_that_hold_nodesets_are_found_at_any_depth(tmp_path):
    write(tmp_path / "env_a.py", whole("env_a"))
    write(tmp_path / "env_b" / "__init__.py", "from .inner import Env\n")
    write(tmp_path / "env_b" / "inner.py", whole("env_b"))
    write(tmp_path / "server" / "__init__.py", '"""\nfrom here on, servers\n"""\n# class\n__all__ = []\n')
    write(tmp_path / "server" / "deep" / "env_c.py", whole("env_c"))
    assert found_in(tmp_path) == ["env_a.py", "env_b", "server/deep/env_c.py"]


@pytest.mark.parametrize(
    "skipped",
    [
        "test_env.py",
        "env_test.py",
        "conftest.py",
        "_helper.py",
        "__pycache__/env.py",
        ".hidden/env.py",
        "tests/env.py",
        "graphs/env.py",
        "notes.md",
    ],
)
def test_tests_helpers_and_caches_are_skipped(tmp_path, skipped):
    write(tmp_path / skipped, whole("env_x"))
    write(tmp_path / "plain.py", "print('a script without a nodeset')")
    write(tmp_path / "package" / "__init__.py", "import json")
    assert found_in(tmp_path) == []


def test_a_package_that_cannot_be_parsed_is_kept_so_that_its_error_is_told(tmp_path):
    write(tmp_path / "broken" / "__init__.py", "def f(:  # BaseNodeSet")
    assert found_in(tmp_path) == ["broken"]


def test_links_are_followed_and_circles_end(tmp_path):
    write(tmp_path / "elsewhere" / "env_a" / "__init__.py", whole("env_a"))
    write(tmp_path / "root" / "group" / "env_b.py", whole("env_b"))
    (tmp_path / "root" / "env_a").symlink_to(tmp_path / "elsewhere" / "env_a")
    (tmp_path / "root" / "group" / "again").symlink_to(tmp_path / "root")
    (tmp_path / "root" / "dangling.py").symlink_to(tmp_path / "gone")
    assert found_in(tmp_path / "root") == ["env_a", "group/env_b.py"]


def test_a_root_that_is_not_there_is_empty(tmp_path):
    assert found_in(tmp_path / "gone") == []
    assert graph_files(tmp_path / "gone") == []


def test_a_place_may_be_the_nodeset_itself(tmp_path):
    file = write(tmp_path / "env_a.py", whole("env_a"))
    folder = write(tmp_path / "env_b" / "__init__.py", whole("env_b")).parent
    assert candidates(NodesetRoot("package", (file, folder, file))) == [file, folder]


def test_overlay_workspaces_packages_and_built_ins_rank_in_this_order(tmp_path):
    roots = standard_roots([tmp_path / "one", tmp_path / "two"], overlay=tmp_path / "over")
    assert [root.origin for root in roots] == ["overlay", "workspace", "workspace", "package", "builtin"]
    assert roots[0].places == (tmp_path / "over" / "nodesets",)
    assert roots[1].graphs == tmp_path / "one" / "graphs"
    assert (roots[-1].places[0] / "__init__.py").is_file()


def install(site, distribution, points):
    """A distribution's metadata, as an installer leaves it."""
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    info = site / f"{distribution}-1.0.dist-info"
    write(info / "METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    write(info / "entry_points.txt", f"[evaltower.nodesets]\n{lines}\n")


def test_entry_points_lead_to_files_without_importing_them(tmp_path, monkeypatch, caplog):
    boom = "raise AssertionError('imported')  # BaseNodeSet\n"
    write(tmp_path / "evt_package" / "__init__.py", boom)
    write(tmp_path / "evt_package" / "inner" / "env_a.py", boom)
    write(tmp_path / "evt_package" / "env_b" / "__init__.py", boom)
    write(tmp_path / "evt_module.py", boom)
    install(
        tmp_path,
        "evt_dist",
        {
            "a": "evt_package.inner.env_a:Env",
            "b": "evt_package.env_b",
            "c": "evt_module",
            "d": "evt_package",
            "e": "evt_gone.env",
            "f": "evt_package.gone",
        },
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (packages,) = (root for root in standard_roots() if root.origin == "package")
    assert [path.relative_to(tmp_path).as_posix() for path in packages.places] == [
        "evt_package/inner/env_a.py",
        "evt_package/env_b",
        "evt_module.py",
        "evt_package",
    ]
    assert [record.args[::2] for record in caplog.records] == [
        ("e", "evt_gone.env"),
        ("f", "evt_package.gone"),
    ]


def test_how_a_graph_is_scored_is_no_graph(tmp_path):
    write(tmp_path / "a.json", "{}")
    write(tmp_path / "a.scoring.json", "{}")
    assert graph_files(tmp_path) == [tmp_path / "a.json"]
