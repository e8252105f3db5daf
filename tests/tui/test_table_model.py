from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.filtering import FilterError
from tui.table_model import Column, TableModel


@dataclass(frozen=True)
class Animal:
    name: str
    legs: int | None


COLUMNS: list[Column[Animal]] = [
    Column("name", "name", 0, lambda row: row.name),
    Column("legs", "legs", 4, lambda row: row.legs),
]
ZOO = [Animal("cat", 4), Animal("ant", 6), Animal("hen", 2), Animal("eel", None), Animal("dog", 4)]


def _model(rows: list[Animal] = ZOO) -> TableModel[Animal]:
    model = TableModel(COLUMNS, lambda row: row.name, is_fault=lambda row: row.legs is None)
    model.set_rows(rows)
    return model


def _shown(model: TableModel[Animal]) -> list[str]:
    return [model.row(place).name for place in range(len(model))]


def test_rows_stand_as_they_come() -> None:
    assert _shown(_model()) == ["cat", "ant", "hen", "eel", "dog"]


def test_the_order_before_breaks_ties_and_none_is_last_either_way() -> None:
    model = _model()
    model.sort_by("name")
    model.sort_by("legs")
    assert _shown(model) == ["hen", "cat", "dog", "ant", "eel"]
    model.sort_by("legs")
    assert model.sort == ("-legs", "name")
    assert _shown(model) == ["ant", "cat", "dog", "hen", "eel"]
    model.reverse()
    assert _shown(model) == ["hen", "cat", "dog", "ant", "eel"]


def test_the_cursor_stays_on_its_row_while_others_come_and_go() -> None:
    model = _model()
    model.move(2)
    model.set_rows([Animal("bee", 6), *ZOO[1:]])
    assert model.current_id == "hen"
    model.sort_by("name")
    assert model.current_id == "hen"
    model.set_rows([row for row in ZOO if row.name != "hen"])
    assert model.current is not None


def test_a_filter_that_cannot_be_understood_leaves_the_one_before() -> None:
    model = _model()
    model.set_filter("legs>3")
    assert _shown(model) == ["cat", "ant", "dog"]
    with pytest.raises(FilterError):
        model.set_filter("wings>3")
    assert _shown(model) == ["cat", "ant", "dog"]
    assert model.filter == "legs>3"
    model.set_filter("")
    assert len(model) == 5


def test_faults_only() -> None:
    model = _model()
    model.set_faults_only(True)
    assert _shown(model) == ["eel"]


def test_marks_are_kept_by_id_also_of_rows_that_are_hidden() -> None:
    model = _model()
    model.toggle_mark()
    model.set_filter("legs=6")
    assert [row.name for row in model.targets] == ["cat"]
    model.mark_all()
    assert [row.name for row in model.targets] == ["cat", "ant"]
    model.clear_marks()
    assert [row.name for row in model.targets] == ["ant"]


def test_a_range_is_marked_from_where_it_began_to_where_the_cursor_goes() -> None:
    model = _model()
    model.move(3)
    model.begin_range()
    model.move(1)
    assert model.marks == {"ant", "hen", "eel"}
    model.begin_range()
    model.move(0)
    assert "cat" not in model.marks


def test_an_empty_table_has_nothing_under_the_cursor() -> None:
    model = _model([])
    model.move(3)
    model.toggle_mark()
    model.mark_all()
    assert (model.current, model.current_id, model.targets, model.marks) == (None, "", [], set())


def test_the_same_rows_again_cost_nothing() -> None:
    model = _model()
    assert not model.set_rows(ZOO)
    assert model.set_rows(list(ZOO))


@given(
    st.lists(
        st.builds(Animal, st.text(max_size=3), st.none() | st.integers(0, 3)), unique_by=lambda a: a.name
    ),
    st.sampled_from(["", "legs>1", "!legs=2", "a"]),
    st.lists(st.sampled_from(["name", "-name", "legs", "-legs"]), max_size=3),
    st.integers(0, 9),
)
def test_what_is_shown_is_what_passes_each_once(
    rows: list[Animal], typed: str, sort: list[str], at: int
) -> None:
    model = _model(rows)
    model.move(at)
    before = model.current_id
    model.set_sort(sort)
    model.set_filter(typed)
    assert sorted(model.order) == sorted(set(model.order))
    assert 0 <= model.at <= max(0, len(model) - 1)
    if before in _shown(model):
        assert model.current_id == before
    if not typed:
        assert len(model) == len(rows)
