from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.store.strict_json import encode, encode_indented

texts = st.text(st.characters(blacklist_categories=()))  # lone surrogates too
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
finite = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def refuse(constant: str) -> Any:
    raise AssertionError(f"not strict JSON: {constant}")


@given(values)
def test_every_value_becomes_strict_json_of_one_line(value: Any) -> None:
    data = encode(value)
    assert b"\n" not in data
    json.loads(data.decode("utf-8"), parse_constant=refuse)
    assert json.loads(encode_indented(value)) == json.loads(data)


@given(finite)
def test_what_json_can_hold_comes_back_equal(value: Any) -> None:
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan"), np.float64("inf")])
def test_non_finite_becomes_null(value: Any) -> None:
    assert encode({"m": value}) == b'{"m":null}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.5), b"0.5"),
        (np.int8(-3), b"-3"),
        (np.uint64(2**63), b"9223372036854775808"),
        (np.bool_(True), b"true"),
        (np.array(2.0), b"2.0"),
        (Path("/a/b"), b'"/a/b"'),
    ],
)
def test_scalars_of_numpy_and_paths(value: Any, text: bytes) -> None:
    assert encode(value) == text


def test_what_json_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="ndarray"):
        encode({"frame": np.zeros((2, 2))})


def test_each_lone_surrogate_is_one_replacement() -> None:
    assert encode({"a\ud800": ["\udfffb\ud800"]}) == '{"a\ufffd":["\ufffdb\ufffd"]}'.encode()
