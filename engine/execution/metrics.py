"""Metrics of an episode, from the outputs of its graph (contract graph-json.md, ``graphOut``)."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from typing import Any

import numpy

log = logging.getLogger(__name__)


def extract_metrics(outputs: Mapping[str, Any]) -> tuple[dict[str, float | None], int]:
    """(metrics, how many were not finite). A metric that is not finite is None.

    ``metrics`` holds a dict, or JSON text of one, whose numbers and bools become metrics; any other output
    that is a number or bool becomes the metric of its name, and wins over one of that name in ``metrics``.
    """
    numbers = {**_numbers(_table(outputs.get("metrics"))), **_numbers(outputs)}
    metrics = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
    return metrics, sum(number is None for number in metrics.values())


def _table(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except ValueError as error:
            log.warning("output 'metrics' is text that is not JSON: %s", error)
            return {}
    if isinstance(value, Mapping):
        return value
    if value is not None and not isinstance(value, _NUMBER):
        log.warning("output 'metrics' is %s, not a dict of numbers", type(value).__name__)
    return {}


_NUMBER = (bool, int, float, numpy.bool_, numpy.integer, numpy.floating)


def _numbers(table: Mapping[Any, Any]) -> dict[str, float]:
    return {str(name): _as_float(value) for name, value in table.items() if isinstance(value, _NUMBER)}


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
