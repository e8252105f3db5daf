from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from engine.control.local import LocalControl
from engine.control.plans import plan_run
from engine.control.reports import NotFoundError, RefusedError, Sources, StartRequest, problem_text
from tests.fakes.workspace import NODESET, toy_graph


def test_a_good_graph_says_what_it_needs_and_what_was_assumed(control: LocalControl) -> None:
    report = control.check("toy")
    assert report.ok
    assert [(use.name, use.parallelism, use.parallelism_assumed) for use in report.nodesets] == [
        ("env_toy", "replicated", True)
    ]


def test_a_file_and_a_name(control: LocalControl, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(toy_graph(name="")))
    assert control.check(str(file)).graph == "mine"
    assert control.check("toy").path == str(control.root / "workspace" / "graphs" / "toy.json")
    with pytest.raises(NotFoundError, match="near: toy"):
        control.check("toyy")
    with pytest.raises(NotFoundError, match=r"no graph file nothing\.json"):
        control.check("nothing.json")


def test_an_overlay_comes_first(control: LocalControl, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    (overlay / "graphs").mkdir(parents=True)
    (overlay / "graphs" / "toy.json").write_text(json.dumps(toy_graph(nodes=[], edges=[])))
    assert control.check("toy").ok
    assert not control.check("toy", Sources(active_workspace_dir=str(overlay))).ok
    assert not control.check("toy", Sources(workspaces=[str(overlay)])).ok


def test_all_problems_of_a_graph_at_once(control: LocalControl, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    more = [("a", "env_toy__nope"), ("b", "no_such__x"), ("c", "llmCall")]
    nodes = [*toy_graph()["nodes"], *({"id": node, "type": kind} for node, kind in more)]
    file.write_text(json.dumps(toy_graph(nodes=nodes, edges=[])))
    report = control.check(str(file))
    found = " ".join(problem.where + problem.message for problem in report.problems)
    assert "env_toy__nope" in found
    assert "trigger" in found
    assert [(missing.kind, missing.name, missing.wanted) for missing in report.missing] == [
        ("tool", "env_toy__nope", ["a"]),
        ("nodeset", "no_such", ["no_such__x"]),
        ("profile", "", ["c"]),
    ]


def test_a_file_that_is_no_graph(control: LocalControl, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("{")
    report = control.check(str(file))
    assert not report.ok
    assert report.graph == "bad"


def test_a_nodeset_that_fails_to_load_is_named_with_its_error(control: LocalControl) -> None:
    path = control.root / "workspace" / "nodesets" / "env_toy.py"
    path.write_text(NODESET.replace('name = "env_toy"', "name = 1 / 0"))
    failed = [p for p in control.check("toy").problems if p.code == "nodeset-failed"]
    assert len(failed) == 1
    assert failed[0].where == str(path)
    assert "ZeroDivisionError" in failed[0].message
    assert refusal(control, "toy") == [f"{path}: {failed[0].message}"]


def test_a_run_without_its_nodesets_is_refused_with_a_line_for_each(
    control: LocalControl, tmp_path: Path
) -> None:
    tools = ["env_tory__reset", *(f"env_libero__{tool}" for tool in ("reset", "step", "see", "look"))]
    file = tmp_path / "away.json"
    nodes = [{"id": f"n{number}", "type": kind} for number, kind in enumerate(tools)]
    file.write_text(json.dumps(toy_graph(nodes=[*toy_graph()["nodes"], *nodes])))
    assert refusal(control, str(file)) == [
        "nodeset 'env_tory': is not installed, and the graph needs its env_tory__reset"
        " (did you mean 'env_toy'?)",
        "nodeset 'env_libero': is not installed, and the graph needs its env_libero__reset,"
        " env_libero__step, env_libero__see and 1 more (name the folder that has it with --workspace, or a"
        " server with --server env_libero=URL)",
    ]
    missing = {found.name: (found.wanted, found.remedy) for found in control.check(str(file)).missing}
    assert missing == {
        "env_tory": (tools[:1], "did you mean 'env_toy'?"),
        "env_libero": (tools[1:], ""),
    }


@pytest.mark.parametrize(
    "declared",
    [
        'default_config = {"slip": 0.1}',
        'required_config = ("slip",)',
        'config_schema = {"type": "object", "properties": {"slip": {"type": "number"}}}',
        'config_schema = {"slip": {"type": "number"}}',
        'ui_config = NodeUIConfig(config_fields=[ConfigField("slip", "slider")])',
    ],
)
def test_a_key_of_a_config_that_looks_like_one_of_the_tool_s_is_a_warning(
    control: LocalControl, tmp_path: Path, declared: str
) -> None:
    nodeset = NODESET.replace("PortDef\n", "ConfigField, NodeUIConfig, PortDef\n", 1)
    path = control.root / "workspace" / "nodesets" / "env_toy.py"
    path.write_text(nodeset.replace('"env_toy__reset"', f'"env_toy__reset"\n    {declared}', 1))
    file = tmp_path / "mistyped.json"
    graph = toy_graph()
    graph["nodes"][0]["config"] = {"slpi": 3, "theirs": 1}
    file.write_text(json.dumps(graph))
    report = control.check(str(file))
    assert report.ok
    (told,) = [problem for problem in report.problems if problem.code == "unknown-key"]
    assert problem_text(told) == (
        "node 'reset': config.slpi is no field that env_toy__reset declares (did you mean 'slip'?)"
    )
    graph["nodes"][0]["config"] = {"slip": 3, "slpi": 3}  # two that look alike, and both are meant
    file.write_text(json.dumps(graph))
    assert not any(problem.code == "unknown-key" for problem in control.check(str(file)).problems)


def test_a_workspace_s_hooks_that_are_mistyped_are_warned_of_and_refuse_nothing(
    control: LocalControl,
) -> None:
    hooks = [
        {"event": "PreNodExecute", "command": "true"},
        {"event": "PreNodeExecute", "command": "true", "match_node_typ": "env_toy__reset"},
    ]
    (control.root / "workspace" / "hooks.json").write_text(json.dumps(hooks))
    report = control.check("toy")
    assert report.ok
    event, key = map(problem_text, report.problems)
    assert event.startswith(
        "hooks.json, hook on 'PreNodExecute': the command 'true' is for an event that there"
    )
    assert key == (
        "hooks.json, hook on 'PreNodeExecute': match_node_typ is read by nothing"
        " (did you mean 'match_node_type'?)"
    )
    plan_run(control.root, StartRequest(graph_name="toy"))


def refusal(control: LocalControl, graph: str) -> list[str]:
    """The lines of a start that is refused."""
    with pytest.raises(RefusedError) as refused:
        control.start(StartRequest(graph_name=graph))
    return [problem_text(problem) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("attribute", "code"),
    [
        ('server_python = "/no/such/python"', "no-interpreter"),
        ('server_python = "python3"', None),
        ('server_image = "toys:latest"', "needs-image"),
    ],
)
def test_a_nodeset_that_cannot_be_started_here_is_said_before_a_run(
    control: LocalControl, attribute: str, code: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    path = control.root / "workspace" / "nodesets" / "env_toy.py"
    path.write_text(
        NODESET.replace('name = "env_toy"\n    desc', f'name = "env_toy"\n    {attribute}\n    desc')
    )
    report = control.check("toy")
    assert report.ok
    assert [(m.kind, m.name) for m in report.missing] == ([("nodeset", "env_toy")] if code else [])
    assert all("--server env_toy=URL" in m.remedy for m in report.missing)
    if code:
        with pytest.raises(RefusedError) as refused:
            control.start(StartRequest(graph_name="toy"))
        assert [problem.code for problem in refused.value.problems] == [code]


def test_a_folder_of_graphs(control: LocalControl, tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    (folder / "more").mkdir(parents=True)
    (folder / "good.json").write_text(json.dumps(toy_graph()))
    (folder / "torn.json").write_text("{")
    elsewhere = toy_graph(nodes=[*toy_graph()["nodes"], {"id": "far", "type": "env_toi__look"}])
    (folder / "more" / "far.json").write_text(json.dumps(elsewhere))
    (folder / "lost.json").symlink_to(tmp_path / "gone.json")
    reports = {report.graph: report for report in control.check_folder(folder)}
    assert list(reports) == ["good", "lost", "more/far", "torn"]
    assert {name: (report.loads, report.ok) for name, report in reports.items()} == {
        "good": (True, True),
        "lost": (False, False),
        "more/far": (True, True),
        "torn": (False, False),
    }
    (tmp_path / "hooks.json").write_text("[]")
    assert [report.graph for report in control.check_folder(tmp_path)] == list(reports), "of a workspace"
    with pytest.raises(NotFoundError, match="no graph file in"):
        control.check_folder(control.root / "workspace" / "nodesets")
    (missing,) = reports["more/far"].missing
    assert (missing.kind, missing.name, missing.wanted) == ("nodeset", "env_toi", ["env_toi__look"])
    assert "'env_toy'" in missing.remedy
    with pytest.raises(RefusedError, match="env_toi__look"):
        control.start(StartRequest(graph_name=str(folder / "more" / "far.json")))


def test_a_start_is_refused_with_every_problem_and_leaves_nothing(
    control: LocalControl, tmp_path: Path
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(toy_graph(edges=[])))
    with pytest.raises(RefusedError) as refused:
        control.start(StartRequest(graph_name=str(file), worker_count=0, episode_count=0))
    wheres = " ".join(problem.where for problem in refused.value.problems)
    assert "worker_count" in wheres
    assert "episode_count" in wheres
    assert "evaluate" in wheres
    with pytest.raises(RefusedError, match="no graph is called 'nope'"):
        control.start(StartRequest(graph_name="nope"))
    assert control.runs() == []


def test_a_package_that_is_not_installed_is_missing_and_a_run_is_refused_until_it_is(
    control: LocalControl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(library))
    _need(control, 'Package(("toy_lib",), "pip install toy-lib")')
    report = control.check("toy")
    assert report.ok
    (missing,) = report.missing
    assert (missing.kind, missing.name, missing.wanted) == ("package", "toy_lib", ["env_toy"])
    assert missing.remedy == f"{sys.executable} lacks it: pip install toy-lib"
    with pytest.raises(RefusedError) as refused:
        control.start(StartRequest(graph_name="toy"))
    (problem,) = refused.value.problems
    assert (problem.code, problem.remedy) == ("no-package", "pip install toy-lib")
    assert control.runs() == []
    (library / "toy_lib.py").write_text("raise RuntimeError('nobody imports it to look for it')\n")
    assert control.check("toy").missing == []
    (library / "toy_lib.py").unlink()
    assert [missing.name for missing in control.check("toy").missing] == ["toy_lib"]


def test_a_package_that_some_tasks_need_counts_where_one_of_them_is_chosen(control: LocalControl) -> None:
    _need(control, 'Package(("toy_lib",), "get it", {"task_id": "deep/.*"})')
    assert control.check("toy").missing == []
    control.start(StartRequest(graph_name="toy", selectors={"task_id": "flat/1"}))
    for chosen in ({"selectors": {"task_id": "deep/1"}}, {"episode_selectors": [{}, {"task_id": "deep/2"}]}):
        with pytest.raises(RefusedError, match="toy_lib"):
            control.start(StartRequest(graph_name="toy", episode_count=2, **chosen))


def test_a_graph_that_names_such_a_task_needs_its_package(control: LocalControl) -> None:
    _need(control, 'Package(("toy_lib",), "get it", {"task_id": "deep/.*"})')
    nodes = [{**node, "config": {"task_id": "deep/1"}} for node in toy_graph()["nodes"]]
    file = control.root / "workspace" / "graphs" / "deep.json"
    file.write_text(json.dumps(toy_graph(nodes=nodes)))
    assert [missing.name for missing in control.check("deep").missing] == ["toy_lib"]
    with pytest.raises(RefusedError, match="toy_lib"):
        control.start(StartRequest(graph_name="deep"))
    control.start(StartRequest(graph_name="deep", selectors={"task_id": "flat/1"}))


def test_a_program_that_some_tasks_start_counts_where_one_of_them_is_chosen(control: LocalControl) -> None:
    _need(control, 'Program(("no-such-java",), "apt-get install it", {"task_id": "deep/.*"}, "deep")')
    assert control.check("toy").missing == []
    control.start(StartRequest(graph_name="toy", selectors={"task_id": "flat/1"}))
    with pytest.raises(RefusedError) as refused:
        control.start(StartRequest(graph_name="toy", selectors={"task_id": "deep/1"}))
    (problem,) = refused.value.problems
    assert (problem.code, problem.remedy) == ("no-program", "apt-get install it")
    assert problem.message == "needs no-such-java, which is not on the PATH"
    with pytest.raises(RefusedError) as elsewhere:  # whose nodes may have it
        control.start(StartRequest(graph_name="toy", selectors={"task_id": "deep/1"}, on="slurm", nodes=0))
    assert "no-program" not in {problem.code for problem in elsewhere.value.problems}


def test_a_program_that_is_always_started_is_missing(control: LocalControl) -> None:
    _need(control, 'Program(("no-such-java", "sh"), "get it")')
    assert control.check("toy").missing == []
    _need(control, 'Program(("no-such-java",), "get it")')
    (missing,) = control.check("toy").missing
    assert (missing.kind, missing.name, missing.wanted) == ("program", "no-such-java", ["env_toy"])
    assert missing.remedy == "it is not on the PATH: get it"


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        ('path="/no/such/card"', "/no/such/card is not there"),
        ('path="TOY_ROOT/data"', "{home}/data is not there"),
        ('library="no-such-library"', "there is no libno-such-library.so"),
        ('variable="TOY_DRAWS", pattern="(egl)?"', "TOY_DRAWS is 'bogus'"),
        ('variable="TOY_SCREEN"', "TOY_SCREEN is not set"),
    ],
)
def test_what_else_has_to_be_there_is_missing_and_a_run_is_refused(
    control: LocalControl, monkeypatch: pytest.MonkeyPatch, condition: str, wrong: str
) -> None:
    monkeypatch.setenv("TOY_ROOT", str(control.root))
    monkeypatch.setenv("TOY_DRAWS", "bogus")
    wrong = wrong.format(home=control.root)
    _need(control, f'Condition("a toy", "get it", {{"task_id": "deep/.*"}}, {condition})')
    assert control.check("toy").missing == []
    control.start(StartRequest(graph_name="toy", selectors={"task_id": "flat/1"}))
    with pytest.raises(RefusedError) as refused:
        control.start(StartRequest(graph_name="toy", selectors={"task_id": "deep/1"}))
    (problem,) = refused.value.problems
    assert (problem.code, problem.remedy) == ("no-condition", "get it")
    assert problem.message == f"needs a toy, and {wrong}"
    _need(control, f'Condition("a toy", "get it", {condition})')
    (missing,) = control.check("toy").missing
    assert (missing.kind, missing.name, missing.wanted) == ("condition", "a toy", ["env_toy"])
    assert missing.remedy == f"{wrong}: get it"
    told = {(item.name, item.detail): item.remedy for item in control.doctor()}
    assert told["needs of env_toy", f"a toy: {wrong}"] == "get it"


def test_a_condition_that_holds_or_is_of_another_environment_is_not_missing(
    control: LocalControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for holds in ('path="/"', 'library="c"', 'variable="PATH"'):
        _need(control, f'Condition("a toy", "get it", {holds})')
        assert control.check("toy").missing == []
    _need(control, 'Condition("a toy", "get it", {"$TOY_DRAWS": "soft"}, path="/no/such")')
    for value, names in (("hard", []), ("soft", ["a toy"])):
        monkeypatch.setenv("TOY_DRAWS", value)
        assert [missing.name for missing in control.check("toy").missing] == names


def test_check_names_what_doctor_names_of_habitat_and_simpler(control: LocalControl) -> None:
    told = {f"{item.name}: {item.detail}" for item in control.doctor()}
    card = [] if os.path.exists("/dev/nvidiactl") else ["an NVIDIA card"]
    for graph, names in (("habitat_expert", ["habitat_sim"]), ("simpler_random", ["simpler_env", *card])):
        found = [missing for missing in control.check(graph).missing if missing.name in names]
        assert [missing.name for missing in found] == names
        for name in names:
            assert [line for line in told if f"{name}: " in line]


def _need(control: LocalControl, needed: str) -> None:
    kind = needed.partition("(")[0]
    source = NODESET.replace("import BaseCanvasNode", f"import {kind}, BaseCanvasNode")
    attribute = f"{kind.lower()}s"
    source = source.replace(
        'name = "env_toy"\n    desc', f'name = "env_toy"\n    {attribute} = ({needed},)\n    desc'
    )
    (control.root / "workspace" / "nodesets" / "env_toy.py").write_text(source)
