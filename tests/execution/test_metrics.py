from __future__ import annotations

import json
import logging

import numpy
import pytest

from engine.execution.metrics import extract_metrics


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({}, {}),
        ({"metrics": {"spl": 0.5, "steps": 3, "success": True}}, {"spl": 0.5, "steps": 3.0, "success": 1.0}),
        ({"metrics": '{"spl": 0.5, "note": "x"}'}, {"spl": 0.5}),
        ({"metrics": {"text": "x", "list": [1], "none": None, "inner": {"a": 1}}}, {}),
        ({"success": False, "reward": 1.5, "answer": "B"}, {"success": 0.0, "reward": 1.5}),
        ({"metrics": {"success": 0.0}, "success": True}, {"success": 1.0}),
        ({"metrics": 0.25}, {"metrics": 0.25}),
        ({"metrics": None, "score": 2}, {"score": 2.0}),
    ],
)
def test_numbers_and_bools_become_metrics(outputs, expected):
    assert extract_metrics(outputs) == (expected, 0)


@pytest.mark.parametrize(
    "number",
    [
        numpy.bool_(True), numpy.int8(1), numpy.int64(1), numpy.uint16(1),
        numpy.float16(1), numpy.float32(1), numpy.float64(1), numpy.longdouble(1),
    ],
)  # fmt: skip
def test_numpy_scalars_of_every_kind_count(number):
    assert extract_metrics({"metrics": {"a": number}, "b": number}) == ({"a": 1.0, "b": 1.0}, 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), numpy.float32("nan"), 10**400])
def test_what_is_not_finite_is_null_and_counted(value):
    assert extract_metrics({"metrics": {"a": value, "b": 1}, "c": value}) == (
        {"a": None, "b": 1.0, "c": None},
        2,
    )


def test_json_text_may_hold_what_is_not_finite():
    assert extract_metrics({"metrics": json.dumps({"a": float("nan")})}) == ({"a": None}, 1)


@pytest.mark.parametrize("wrong", ["not json", [1, 2], object()])
def test_a_metrics_output_that_is_none_is_said(wrong, caplog):
    with caplog.at_level(logging.WARNING):
        assert extract_metrics({"metrics": wrong}) == ({}, 0)
    assert "output 'metrics' is" in caplog.text
