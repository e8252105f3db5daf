from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graph.wiretypes import WIRE_TYPES, is_known, is_list, item_type, mismatch

NAMES = st.sampled_from(WIRE_TYPES)
TYPES = NAMES | NAMES.map(lambda name: f"LIST[{name}]")


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("IMAGE", "IMAGE", None),
        ("IMAGE", "ANY", None),
        ("ANY", "IMAGE", None),
        ("ANY", "LIST[IMAGE]", None),
        ("LIST[IMAGE]", "ANY", None),
        ("ACTION", "DISCRETE_ACTION", None),
        ("DISCRETE_ACTION", "ACTION", None),
        ("LIST[ACTION]", "LIST[DISCRETE_ACTION]", None),
        ("ACTION", "LIST[DISCRETE_ACTION]", None),
        ("OBSERVATION", "OBSERVATION", None),
        ("IMAGE", "LIST[IMAGE]", None),
        ("LIST[IMAGE]", "LIST[IMAGE]", None),
        ("LIST[IMAGE]", "IMAGE", "LIST[IMAGE] into IMAGE would lose all but one item"),
        ("LIST[IMAGE]", "TEXT", "LIST[IMAGE] into TEXT would lose all but one item"),
        ("IMAGE", "DEPTH", "IMAGE does not fit DEPTH"),
        ("TEXT", "LIST[IMAGE]", "TEXT does not fit LIST[IMAGE]"),
        ("LIST[TEXT]", "LIST[ANY]", "LIST[TEXT] does not fit LIST[ANY]"),
    ],
)
def test_which_edges_fit(source: str, target: str, reason: str | None) -> None:
    assert mismatch(source, target) == reason


@given(TYPES, TYPES)
def test_rules_of_the_contract(source: str, target: str) -> None:
    fits = mismatch(source, target) is None
    same_item = item_type(source) == item_type(target)
    if "ANY" in (source, target):
        assert fits
    elif is_list(source) == is_list(target):
        assert fits == same_item
    else:
        assert fits == (same_item and is_list(target))


@given(TYPES)
def test_all_types_are_known(wire_type: str) -> None:
    assert is_known(wire_type)
    assert not is_known(f"LIST[{wire_type}]") or not is_list(wire_type)
    assert not is_known(wire_type.lower())
