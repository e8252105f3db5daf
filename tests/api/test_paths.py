"""Names that would be paths, and bodies that would be anything: nothing of it leaves the root, or fails."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.api.client import EVAL, Client
from tests.api.conftest import Server
from tests.fakes.finished_runs import fake_line, fake_row, make_run

SECRET = "the content of a file outside"

pieces = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "\\",
        "%2e%2e",
        "%2f",
        "\0",
        "~",
        "a",
        "assets",
        "outside.json",
        "outside",
        "last",
        ".json",
    ]
)
tricks = st.one_of(st.lists(pieces, min_size=1, max_size=8).map("".join), st.text(min_size=1, max_size=30))
quick = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@pytest.fixture(scope="module")
def there(shared: Server) -> Client:
    """A server whose root holds a finished run; beside the root lies what nobody may read."""
    root = shared.root
    for folder in (root.parent, root, root / "outputs", root / "workspace"):
        (folder / "outside.json").write_text(json.dumps({"name": SECRET, "nodes": [], "edges": []}))
        (folder / "outside").write_text(SECRET)
    run = make_run(root, rows=[fake_row(0)], logs={0: [fake_line(step, "reset") for step in range(5)]})
    assets = run.episodes / "ep0000" / "assets"
    assets.mkdir()
    for name, data in {
        "0_reset_rgb.png": b"\x89PNG",
        "x.html": b"<script>",
        "y.npz": b"PK",
        "t.txt": b"t",
    }.items():
        (assets / name).write_bytes(data)
    (assets / "link.txt").symlink_to(root / "outside")
    (assets / "folder").mkdir()
    (root / "workspace" / "graphs" / "deep").mkdir()
    (root / "workspace" / "graphs" / "deep" / "graph.json").write_text('{"name": "deep", "nodes": []}')
    return shared.client()


@pytest.mark.slow
@given(name=tricks)
@example("../" * 12 + "etc/passwd")
@example("../../outside.json")
@example("....//outside")
@example("9" * 5000)
@example("n" * 400)
@quick
def test_names_in_the_path(there: Client, name: str) -> None:
    told = quote(name, safe="")
    run = f"{EVAL}/runs/{told}"
    asset = f"{EVAL}/runs/last/episodes/0/assets"
    for path in (run, f"{run}/episodes/0", f"{run}/events", f"{EVAL}/runs/last/episodes/{told}",
                 f"{EVAL}/runs/last/episodes/{told}/log", f"{asset}/{told}", f"{asset}/{quote(name)}",
                 f"/api/graphs/{told}", f"/api/graphs/{quote(name)}", f"{EVAL}/export/{told}",
                 f"{EVAL}/play/{told}"):  # fmt: skip
        answer = there.http.get(path)
        assert answer.status_code < 500, (path, answer.text)
        assert SECRET not in answer.text
        assert "root:x:" not in answer.text
    for path in (f"{run}/cancel", f"{EVAL}/play/{told}/step", f"/api/components/nodesets/{told}/load"):
        assert 400 <= there.http.post(path, json={}).status_code < 500
    if name != "last":
        assert there.http.delete(run).status_code in (403, 404, 405)
    assert there.run("last")["status"] == "completed"


@given(name=tricks)
@example("/etc/passwd")
@example("n" * 400)
@example("n/" * 1900)
@quick
def test_names_of_graphs(there: Client, name: str) -> None:
    for answer in (
        there.http.post(f"{EVAL}/start", json={"graph_name": name, "trust_hooks": True}),
        there.http.post(f"{EVAL}/introspect", json={"graph_name": name}),
        there.http.get(f"{EVAL}/estimate", params={"graph_name": name}),
    ):
        assert 400 <= answer.status_code < 500
        assert SECRET not in answer.text
        assert set(answer.json()) <= {"detail", "code", "problems"}


def test_names_that_no_file_can_have(there: Client) -> None:
    answer = there.http.post(f"{EVAL}/start", json={"graph_name": "n" * 100_000})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("graph_name: has 100000 characters")
    for folder in ("/" + "n" * 400, "/n" * 50_000):
        for field, value in (("active_workspace_dir", folder), ("workspaces", [folder])):
            answer = there.http.post(f"{EVAL}/start", json={"graph_name": "toy", field: value})
            assert answer.status_code == 400, answer.text
    older = {"before": "20260101_000000_" + "9" * 5000}
    assert there.http.get(f"{EVAL}/runs", params=older).status_code == 200


def test_an_episode_by_a_number_with_zeros(there: Client) -> None:
    episode = there.get(f"{EVAL}/runs/last/episodes/0")
    assert there.get(f"{EVAL}/runs/last/episodes/000000") == episode


def test_a_graph_in_a_folder(there: Client) -> None:
    for path in ("/api/graphs/deep/graph", "/api/graphs/deep%2Fgraph"):
        assert there.get(path)["name"] == "deep"


def test_assets(there: Client) -> None:
    folder = f"{EVAL}/runs/last/episodes/0/assets"
    kinds = {
        "0_reset_rgb.png": "image/png",
        "x.html": "application/octet-stream",
        "y.npz": "application/octet-stream",
        "t.txt": "text/plain; charset=utf-8",
    }
    for name, kind in kinds.items():
        answer = there.http.get(f"{folder}/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == kind
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        attached = kind == "application/octet-stream"
        assert ("attachment" in answer.headers.get("content-disposition", "")) == attached
    for name in ("link.txt", "folder", "nothing.png", "%2e%2e", "..%2fepisode.json", "a" * 300):
        assert there.http.get(f"{folder}/{name}").status_code == 404


def test_pages_of_a_log(there: Client) -> None:
    log = f"{EVAL}/runs/last/episodes/0/log"
    first = there.get(log, limit=3)
    assert [line["step"] for line in first["lines"]] == [0, 1, 2]
    assert (first["next_offset"], first["more"]) == (3, True)
    rest = there.get(log, offset=3)
    assert [line["step"] for line in rest["lines"]] == [3, 4]
    assert (rest["next_offset"], rest["more"]) == (5, False)
    beyond = there.get(log, offset=10**12)
    assert (beyond["lines"], beyond["more"]) == ([], False)
    for wrong in ({"offset": -1}, {"limit": 0}, {"limit": 10**6}, {"limit": "many"}, {"offset": 10**22}):
        answer = there.http.get(log, params=wrong)
        assert answer.status_code == 400
        assert next(iter(wrong)) in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("runs?limit=1&offset=2&statsu=error", ["offset: is nothing", "statsu: is nothing", "'status'"]),
        (
            "runs/last/report?other=x",
            ["other: is nothing that this route's query takes (it takes: 'against')"],
        ),
        ("runs/last/episodes/0/log?limits=3", ["did you mean 'limit'?"]),
        ("queue?run=last", ["run: is nothing that this route's query takes (it takes none)"]),
        (
            "estimate?graph=toy",
            ["graph: is nothing that this route's query takes (did you mean 'graph_name'?"],
        ),
    ],
)
def test_a_name_that_a_query_does_not_have_is_not_ignored(there: Client, path: str, told: list[str]) -> None:
    answer = there.http.get(f"{EVAL}/{path}")
    assert answer.status_code == 400
    for part in told:
        assert part in answer.json()["detail"]
    assert there.http.post(f"{EVAL}/queue/resume?now=yes", json={}).status_code == 400


def test_lists_of_runs(there: Client, shared: Server) -> None:
    newer = [make_run(shared.root, rows=[fake_row(0)], status="cancelled").run_id for _ in range(3)]
    found = there.get(f"{EVAL}/runs", limit=2)
    assert [run["run_id"] for run in found["runs"]] == newer[:0:-1]
    following = there.get(f"{EVAL}/runs", limit=2, before=found["next_before"])
    assert following["runs"][0]["run_id"] == newer[0]
    assert len(there.get(f"{EVAL}/runs", status="cancelled")["runs"]) == 3
    assert there.get(f"{EVAL}/runs", graph="nothing") == {"runs": [], "next_before": None}
    odd = there.http.get(f"{EVAL}/runs", params={"status": "odd", "limit": 0})
    assert odd.status_code == 400
    assert [problem["where"] for problem in odd.json()["problems"]] == ["limit", "status"]
    assert "one of pending, running, completed, cancelled, error, aborted" in odd.json()["detail"]
    assert there.delete(f"{EVAL}/runs/{newer[0]}") == {"deleted": newer[0]}
    assert there.http.get(f"{EVAL}/runs/{newer[0]}").status_code == 404
    for name in (newer[0], newer[1][:13], "last"):  # what is changed is named: no namesake, no beginning
        assert there.http.delete(f"{EVAL}/runs/{name}").status_code == 404
    compared = there.get(f"{EVAL}/compare", runs=f"{newer[1]},{newer[2]}")
    assert [run["run_id"] for run in compared["runs"]] == newer[1:]
    assert there.http.get(f"{EVAL}/compare", params={"runs": "last"}).status_code == 400


bodies = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


fields_of_a_start = st.sampled_from(
    ["worker_count", "seed", "selectors", "graph", "gpus", "scoring", "episode_indices", "label"]
)


@given(fields=st.dictionaries(fields_of_a_start, bodies, max_size=4))
@example({"seed": 10**30})
@example({"selectors": {"a": -(10**40)}})
@example({"graph": {"nodes": [{"id": "a", "type": "b", "config": {"x": 10**25}}]}})
@quick
def test_bodies(there: Client, fields: dict[str, object]) -> None:
    answer = there.http.post(f"{EVAL}/start", json={"graph_name": "no such graph", **fields})
    assert 400 <= answer.status_code < 500, answer.text
    assert set(answer.json()) <= {"detail", "code", "problems"}


@pytest.mark.parametrize("steps", [0, -1, 10**6 + 1, 10**30, 1.5, "2", None])
def test_steps_that_are_no_number_of_steps(there: Client, steps: object) -> None:
    answer = there.http.post(f"{EVAL}/play/last/step", json={"steps": steps})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("steps: expected int")


def test_numbers_that_are_too_large(there: Client) -> None:
    for path, body in (
        (f"{EVAL}/estimate", {"graph_name": "toy", "worker_count": 10**30}),
        (f"{EVAL}/runs/last/move", {"position": 10**30}),
        (f"{EVAL}/play", {"graph_name": "toy", "episode": 10**30}),
    ):
        answer = there.http.post(path, json=body)
        assert answer.status_code == 400, (path, answer.text)


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"\xff", b'"\\ud800"', b'{"graph_name": 1}', b"[" * 100_000, b"null", b'{"a":NaN}'],
    ids=["cut", "list", "no UTF-8", "surrogate", "number", "deep", "null", "NaN"],
)
def test_bodies_that_are_none(there: Client, data: bytes) -> None:
    answer = there.http.post(f"{EVAL}/start", content=data)
    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_a_body_that_is_too_large(there: Client) -> None:
    answer = there.http.post(f"{EVAL}/start", content=b" " * (17 << 20))
    assert answer.status_code == 413
    assert answer.json() == {"detail": "the body is too large", "code": "bad_request"}


def test_methods_that_a_route_does_not_have(there: Client) -> None:
    answer = there.http.put(f"{EVAL}/queue")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET"
    assert answer.json()["detail"]


def test_nothing_was_written_outside(there: Client, shared: Server) -> None:
    assert (shared.root / "outside").read_text() == SECRET
    assert {path.name for path in Path(shared.root.parent).iterdir()} <= {
        "root", "outside", "outside.json", "serve.log",
    }  # fmt: skip
