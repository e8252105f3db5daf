from __future__ import annotations

import json
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from engine.hosting import codec

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
dtypes = npst.boolean_dtypes() | npst.integer_dtypes() | npst.floating_dtypes() | npst.complex_number_dtypes()
arrays = npst.arrays(
    dtypes | npst.datetime64_dtypes() | npst.unicode_string_dtypes(max_len=4),
    npst.array_shapes(min_dims=0, min_side=0),
)


def through(value: Any) -> Any:
    return codec.decode(codec.encode(value))


@given(values)
def test_what_json_knows_and_bytes_arrive_as_they_were(value: Any) -> None:
    assert through(value) == value


@given(arrays, st.text(max_size=9))
def test_arrays_arrive_bit_for_bit_aligned_and_read_only(array: np.ndarray, before: str) -> None:
    got = through({"before": before, "array": array})["array"]
    assert (got.dtype, got.shape) == (array.dtype, array.shape)
    assert got.tobytes() == array.tobytes()
    assert got.flags.aligned
    assert not got.flags.writeable


@pytest.mark.parametrize("view", [np.s_[::2, 1:], np.s_[::-1], np.s_[:, 0]])
def test_views_arrive_as_what_they_show(view: Any) -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(through(array[view]), array[view])
    np.testing.assert_array_equal(through(array.T), array.T)


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ((1, (2, 3)), [1, [2, 3]]),
        ({4}, [4]),
        (np.float64(0.1), 0.1),
        (np.float16(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),
        (np.str_("left"), "left"),
        (np.bytes_(b"left"), b"left"),
        ({np.int64(3): np.int8(-1)}, {3: -1}),
        ("a\ud800b\udfff", "a�b�"),
        ({"k\ud800": ["\ud800", 1]}, {"k�": ["�", 1]}),
        ("line\u2028line", "line\u2028line"),
        (float("inf"), float("inf")),
        (-float("inf"), -float("inf")),
    ],
)
def test_what_arrives_as_something_else(sent: Any, arrives: Any) -> None:
    got = through(sent)
    assert got == arrives
    assert type(got) is type(arrives)


def test_nan_stays_nan() -> None:
    assert np.isnan(through(float("nan")))
    assert np.isnan(through(np.float32("nan")))


def inside_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"outputs": {"rgb": [1, object()]}}, r"^outputs\.rgb\[1\]: .*builtins\.object cannot be sent"),
        ({"a": np.array([None])}, r"^a: an array of dtype object cannot be sent"),
        ({"a": np.zeros(2, [("x", "i4")])}, r"^a: an array of dtype .* cannot be sent"),
        ([2**64], r"^\[0\]: can't serialize ints"),
        ({"a": {"b": 1j}}, r"^a\.b: .*complex cannot be sent"),
        ({"a": np.complex64(1)}, r"^a: .*complex cannot be sent"),
        (deque([1]), r"^the value: .*deque cannot be sent"),
        ({"a": inside_itself()}, r"^a\[0\]\[0\].*: nested too deeply, or inside itself"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        codec.encode(value)


@given(st.binary())
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        codec.decode(data)
    except codec.NOT_A_MESSAGE:
        pass


@given(st.integers(0, 255), st.integers(0, 200))
def test_a_damaged_array_never_shows_memory_that_is_not_its_own(byte: int, at: int) -> None:
    message = bytearray(codec.encode(np.arange(20)))
    message[at % len(message)] = byte
    try:
        got = codec.decode(bytes(message))
    except codec.NOT_A_MESSAGE:
        return
    if isinstance(got, np.ndarray):
        assert got.nbytes <= len(message)


def test_json_shows_arrays_as_lists() -> None:
    value = {"a": np.eye(2), "n": float("nan"), "t": "\ud800"}
    assert json.loads(codec.encode_json(value)) == {"a": [[1, 0], [0, 1]], "n": None, "t": "�"}
