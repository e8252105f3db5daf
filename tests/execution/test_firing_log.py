"""Contract run-dir.md, "log.jsonl line" and "Digests"."""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import weakref
from pathlib import Path

import numpy
import pytest
from PIL import Image

from engine.execution.firing_log import EpisodeLog
from engine.execution.record import Firing
from engine.graph.model import Node, Port, Ports
from engine.graph.plan import PlannedNode
from tests.execution.sketch import run
from tests.execution.test_loops import simple

KEYS = [
    "timestamp", "execution_id", "source", "step", "node_id", "node_type", "node_label", "duration_ms",
    "queue_wait_ms", "compute_ms", "transport_ms", "transfer_bytes", "inputs", "outputs", "output_digests",
    "inner_log", "port_wire_types", "error", "parent_node_id", "dynamic_index",
]  # fmt: skip


def fired(step=0, node="policy", inputs=None, outputs=None, wire_type="ANY", **more) -> Firing:
    ports = Ports((Port("x", wire_type),), (Port("y", wire_type),))
    planned = PlannedNode(Node(node, "test__node", label="A node"), ports)
    return Firing(planned, "run/ep0000", step, 1e9, inputs or {}, outputs or {}, **more)


def lines(path: Path, name="log.jsonl"):
    def refuse(constant):
        raise AssertionError(f"{constant} is no strict JSON")

    return [json.loads(line, parse_constant=refuse) for line in (path / name).read_bytes().split(b"\n")[:-1]]


def written(folder: Path, *firings: Firing, **options):
    log = EpisodeLog(folder, **options)
    for firing in firings:
        log.firing(firing)
    log.close()
    return lines(folder)


def shown(folder: Path, value, wire_type="ANY", **options):
    """How the log shows an output, in a folder of its own."""
    (line,) = written(folder, fired(outputs={"y": value}, wire_type=wire_type), **options)
    return line["outputs"]["y"]


def test_a_line_has_every_key_in_order(tmp_path):
    firing = fired(
        step=3,
        inputs={"x": 1},
        outputs={"y": "go"},
        error="broken",
        inner_log=[{"key": "prompt", "value": "hi"}],
        duration_ms=1.23456,
        compute_ms=1,
        transfer_bytes=9,
    )
    (line,) = written(tmp_path, firing)
    assert list(line) == KEYS
    digest = line.pop("output_digests")
    assert list(digest) == ["y"]
    assert len(digest["y"]) == 32
    assert line == {
        "timestamp": "2001-09-09T01:46:40.000000+00:00",
        "execution_id": "run/ep0000",
        "source": "eval",
        "step": 3,
        "node_id": "policy",
        "node_type": "test__node",
        "node_label": "A node",
        "duration_ms": 1.235,
        "queue_wait_ms": 0.0,
        "compute_ms": 1.0,
        "transport_ms": 0.0,
        "transfer_bytes": 9,
        "inputs": {"x": 1},
        "outputs": {"y": "go"},
        "inner_log": [{"key": "prompt", "value": "hi"}],
        "port_wire_types": {"x": "ANY", "y": "ANY"},
        "error": "broken",
        "parent_node_id": None,
        "dynamic_index": None,
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None),
        ([math.inf, -math.inf, numpy.float32("nan")], [None, None, None]),
        ("a\ud800b", "a\ufffdb"),
        ({"\udfff": 1, 2: (3, {4})}, {"\ufffd": 1, "2": [3, [4]]}),
        ("line\u2028separator", "line\u2028separator"),
        (
            [numpy.int8(1), numpy.uint64(2), numpy.bool_(True), numpy.float16(0.5), numpy.str_("s")],
            [1, 2, True, 0.5, "s"],
        ),
        (2**70, 2**70),
        (b"ab", "YWI="),
        (1 + 2j, [1.0, 2.0]),
    ],
)
def test_any_value_becomes_strict_json(tmp_path, value, expected):
    assert shown(tmp_path, value) == expected


def test_an_object_is_named(tmp_path):
    assert shown(tmp_path, object()) == {"$object": "builtins.object"}


def test_a_separator_within_a_text_ends_no_line(tmp_path):
    assert len(written(tmp_path, fired(outputs={"y": "a\u2028b\x85c\nd"}))) == 1


def rgb(seed=0, size=16):
    return numpy.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=numpy.uint8)


def test_an_image_is_a_png_named_by_step_node_and_port(tmp_path):
    image = rgb()
    (line,) = written(tmp_path, fired(step=12, node="env/step 1", outputs={"y": image}))
    assert line["outputs"]["y"] == {
        "$asset": "assets/12_env-step-1_y.png",
        "shape": [16, 16, 3],
        "dtype": "uint8",
    }
    assert numpy.array_equal(numpy.array(Image.open(tmp_path / line["outputs"]["y"]["$asset"])), image)


def test_one_content_is_stored_once(tmp_path):
    image = rgb()
    image.flags.writeable = False
    twin = rgb()
    found = written(
        tmp_path,
        fired(outputs={"y": image}),
        fired(node="other", inputs={"x": [image, twin]}, outputs={"y": {"deep": [twin]}}),
        fired(step=1, outputs={"y": rgb(1)}),
    )
    first = found[0]["outputs"]["y"]
    assert found[1]["inputs"]["x"] == [first, first]
    assert found[1]["outputs"]["y"] == {"deep": [first]}
    assert sorted(os.listdir(tmp_path / "assets")) == ["0_policy_y.png", "1_policy_y.png"]


def test_several_images_of_one_port_get_names_of_their_own(tmp_path):
    (line,) = written(tmp_path, fired(outputs={"y": [rgb(1), rgb(2), rgb(3)]}))
    assert [item["$asset"] for item in line["outputs"]["y"]] == [
        "assets/0_policy_y.png",
        "assets/0_policy_y_2.png",
        "assets/0_policy_y_3.png",
    ]


def test_an_array_that_is_written_again_is_stored_as_it_was(tmp_path):
    image = rgb()
    before = image.copy()
    log = EpisodeLog(tmp_path)
    log.firing(fired(outputs={"y": image}))
    image[:] = 0
    log.firing(fired(step=1, outputs={"y": image}))
    log.close()
    first, second = lines(tmp_path)
    assert numpy.array_equal(numpy.array(Image.open(tmp_path / first["outputs"]["y"]["$asset"])), before)
    assert first["outputs"]["y"] != second["outputs"]["y"]
    assert first["output_digests"] != second["output_digests"]


@pytest.mark.parametrize(
    ("array", "wire_type", "kept"),
    [
        (numpy.zeros((16, 20, 3), "u1"), "ANY", True),
        (numpy.zeros((7, 7, 3), "u1"), "ANY", False),
        (numpy.zeros((200, 15, 3), "u1"), "ANY", False),
        (numpy.zeros((7, 7, 3), "u1"), "IMAGE", True),
        (numpy.zeros((4, 5, 3), "f4"), "IMAGE", False),
        (numpy.zeros((4, 5), "u1"), "IMAGE", True),
        (numpy.zeros((4, 5, 4), "u1"), "LIST[IMAGE]", True),
        (numpy.zeros((4, 5), "u1"), "ANY", False),
        (numpy.zeros((0, 5, 3), "u1"), "IMAGE", False),
    ],
)
def test_what_counts_as_an_image(tmp_path, array, wire_type, kept):
    assert ("$asset" in shown(tmp_path, array, wire_type)) == kept


@pytest.mark.parametrize(
    ("array", "summary"),
    [
        (numpy.array([[0.0, 2.0]], "f4"), {"min": 0.0, "max": 2.0, "mean": 1.0, "values": [[0.0, 2.0]]}),
        (
            numpy.array([math.nan, math.inf, 3.0]),
            {"min": 3.0, "max": 3.0, "mean": 3.0, "values": [None, None, 3.0]},
        ),
        (numpy.array([math.nan]), {"min": None, "max": None, "mean": None, "values": [None]}),
        (numpy.array([True, False]), {"min": 0.0, "max": 1.0, "mean": 0.5, "values": [True, False]}),
        (numpy.arange(9), {"min": 0.0, "max": 8.0, "mean": 4.0}),
        (numpy.zeros((0, 3)), {"min": None, "max": None, "mean": None}),
        (numpy.array(["a"]), {"min": None, "max": None, "mean": None}),
        (numpy.array([{"a": 1}], dtype=object), {"min": None, "max": None, "mean": None}),
    ],
)
def test_any_other_array_is_a_summary_of_its_finite_elements_and_few_numbers_stand_there(
    tmp_path, array, summary
):
    facts = {"shape": list(array.shape), "dtype": array.dtype.name}
    assert shown(tmp_path, array) == {"$array": {**facts, **summary}}


def test_arrays_are_kept_where_the_run_asks_for_them(tmp_path):
    depth = numpy.linspace(0, 1, 12, dtype=numpy.float32).reshape(3, 4)
    reference = shown(tmp_path, depth, "DEPTH", keep_arrays=True)
    assert reference == {"$asset": "assets/0_policy_y.npz", "shape": [3, 4], "dtype": "float32"}
    with numpy.load(tmp_path / reference["$asset"]) as stored:
        assert numpy.array_equal(stored["array"], depth)


@pytest.mark.parametrize("text", ["é" * 40_000, "x\ud800" + "y" * 70_000])
def test_a_long_text_is_an_asset(tmp_path, text):
    reference = shown(tmp_path, {"answer": [text], "short": "s"})
    assert reference["short"] == "s"
    (long,) = reference["answer"]
    assert long["chars"] == len(text)
    stored = (tmp_path / long["$asset"]).read_text(encoding="utf-8")
    assert stored == text.replace("\ud800", "\ufffd")


def test_a_text_of_50_mb_does_not_swell_the_log(tmp_path):
    written(tmp_path, fired(outputs={"y": "x" * 50_000_000}))
    assert (tmp_path / "log.jsonl").stat().st_size < 2000


def test_a_text_within_the_limit_stays(tmp_path):
    text = "x" * 65_536
    assert shown(tmp_path, [text, text]) == [text, text]


def test_lines_are_readable_at_the_boundary(tmp_path):
    log = EpisodeLog(tmp_path)
    log.firing(fired())
    assert not (tmp_path / "log.jsonl").exists()
    log.boundary()
    assert len(lines(tmp_path)) == 1
    log.close()


def test_arrays_are_let_go_at_the_boundary(tmp_path):
    log = EpisodeLog(tmp_path)
    depth = numpy.zeros((4, 4), numpy.float32)
    depth.flags.writeable = False
    alive = weakref.ref(depth)
    log.firing(fired(outputs={"y": depth}))
    del depth
    log.boundary()
    gc.collect()
    assert alive() is None
    log.close()


def test_trace_and_containers_exist_only_where_there_is_something_to_tell(tmp_path):
    log = EpisodeLog(tmp_path)
    log.firing(fired())
    log.close()
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl"]
    log = EpisodeLog(tmp_path)
    log.firing(fired(step=2, events=[{"kind": "message", "text": "hi"}]))
    log.checkpoint(1, {"memory": {"values": {"seen": [1, numpy.float32("nan")]}}})
    log.close()
    (event,) = lines(tmp_path, "trace.jsonl")
    assert {"kind": "message", "text": "hi", "step": 2, "node_id": "policy"}.items() <= event.items()
    assert lines(tmp_path, "containers.jsonl") == [
        {"step": 1, "containers": {"memory": {"values": {"seen": [1, None]}}}}
    ]


def test_an_attempt_starts_afresh(tmp_path):
    written(tmp_path, fired(outputs={"y": rgb()}, events=[{"kind": "log"}]), fired())
    assert len(written(tmp_path, fired(step=5))) == 1
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl"]


def digest_of(folder: Path, *firings: Firing) -> str:
    log = EpisodeLog(folder)
    for firing in firings:
        log.firing(firing)
    log.close()
    return log.trajectory_digest


def test_the_trajectory_digest_leaves_out_times_and_counts_the_rest(tmp_path):
    base = digest_of(tmp_path, fired(outputs={"y": 1, "z": (2.0, "a")}), fired(step=1))
    same = fired(outputs={"z": [numpy.float64(2), "a"], "y": numpy.int32(1)}, duration_ms=9, transport_ms=9)
    assert digest_of(tmp_path, same, fired(step=1)) == base
    for other in [
        (fired(step=1), fired(outputs={"y": 1, "z": (2.0, "a")})),
        (fired(outputs={"y": 1, "z": (2.0, "b")}), fired(step=1)),
        (fired(outputs={"y": 1, "z": (2.0, "a")}), fired(step=2)),
        (fired(outputs={"y": 1, "z": (2.0, "a")}, node="other"), fired(step=1)),
        (fired(outputs={"y": 1, "z": (2.0, "a")}),),
    ]:
        assert digest_of(tmp_path, *other) != base


async def test_a_run_through_the_executor(tmp_path):
    digests = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        log = EpisodeLog(tmp_path / name)
        ran = await run(*simple(stop_at=3), log=log)
        log.close()
        assert [line["node_id"] for line in lines(tmp_path / name)].count("body") == 3
        assert ran.outcome.outputs == {"score": 3}
        digests.append(log.trajectory_digest)
    assert digests[0] == digests[1]


@pytest.fixture
def small_disk():
    """No file of this process may grow beyond 100 kB: writing fails as on a full disk, EFBIG for ENOSPC."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_said_and_the_log_goes_on_whole_when_there_is_room(tmp_path, small_disk):
    log = EpisodeLog(tmp_path)
    for step in range(50):
        log.firing(fired(step=step, outputs={"y": "x" * 4000}))
    with pytest.raises(OSError, match=r"log\.jsonl"):
        log.boundary()
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    )
    log.close()
    assert [line["step"] for line in lines(tmp_path)] == list(range(50))


def test_an_image_that_cannot_be_written_is_said_at_the_end_and_the_lines_are_kept(tmp_path, small_disk):
    log = EpisodeLog(tmp_path)
    log.firing(fired(outputs={"y": rgb(size=256)}))
    with pytest.raises(OSError):
        log.close()
    assert len(lines(tmp_path)) == 1
    assert not list((tmp_path / "assets").glob("*.png"))


def test_a_folder_that_is_gone_is_said(tmp_path):
    folder = tmp_path / "ep0000"
    folder.mkdir()
    log = EpisodeLog(folder)
    folder.rmdir()
    log.firing(fired())
    with pytest.raises(OSError, match=r"log\.jsonl"):
        log.boundary()
    with pytest.raises(OSError, match=r"log\.jsonl"):
        log.close()
