from __future__ import annotations

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
