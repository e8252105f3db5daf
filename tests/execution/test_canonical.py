from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.execution.canonical import Canonical

digest = Canonical().digest

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def as_numpy(value):
    """The same value as a simulator would return it."""
    if isinstance(value, bool):
        return numpy.bool_(value)
    if isinstance(value, int):
        return numpy.int64(value) if -(2**63) <= value < 2**63 else value
    if isinstance(value, float):
        return numpy.float64(value)
    if isinstance(value, list):
        return tuple(as_numpy(item) for item in value)
    if isinstance(value, dict):
        return {key: as_numpy(value[key]) for key in reversed(value)}
    return value


@settings(deadline=None)
@given(values)
def test_the_same_value_has_the_same_digest_however_it_is_built(value):
    assert digest(as_numpy(value)) == digest(value)


def equal(a, b):
    """Equal in type and value: 1, 1.0 and True are three values, and so are 0.0 and -0.0."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return bool(a == b)


@settings(deadline=None)
@given(values, values)
def test_different_values_differ(a, b):
    assert (digest(a) == digest(b)) == equal(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (numpy.arange(3, dtype=">i4"), numpy.arange(3, dtype="<i4")),
        (numpy.arange(6).reshape(2, 3), numpy.asfortranarray(numpy.arange(6).reshape(2, 3))),
        (numpy.arange(6)[::2], numpy.array([0, 2, 4])),
        (numpy.array([1, "x", None], dtype=object), numpy.array([1, "x", None], dtype=object)),
        (numpy.datetime64("2020-01-01"), numpy.datetime64("2020-01-01")),
        (numpy.float32(0.1), float(numpy.float32(0.1))),
        ({1: "a"}, {numpy.int64(1): "a"}),
        ({3, 1, 2}, {2, 3, 1}),
        (object(), object()),
    ],
)
def test_same(a, b):
    assert digest(a) == digest(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (numpy.zeros(4, "u1"), numpy.zeros((2, 2), "u1")),
        (numpy.zeros(4, "u1"), numpy.zeros(4, "i1")),
        (numpy.zeros(0), numpy.zeros((0, 1))),
        (numpy.array(["2020"], "datetime64[Y]"), numpy.array(["2021"], "datetime64[Y]")),
        (numpy.array([(1, 2.0)], "i4,f8"), numpy.array([(1, 3.0)], "i4,f8")),
        (2**70, 2**70 + 1),
        (1, "1"),
        ([1], {"0": 1}),
        (b"a", "a"),
    ],
)
def test_different(a, b):
    assert digest(a) != digest(b)


def test_a_lone_surrogate_is_a_replacement_character():
    assert digest({"a\ud800": ["\udfff"]}) == digest({"a\ufffd": ["\ufffd"]})


def test_values_within_themselves_and_very_deep_ones_have_a_digest():
    knot: dict = {}
    knot["a"] = knot["b"] = knot
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert digest(knot) != digest(deep)
