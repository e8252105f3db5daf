from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.store.episode_folders import find_episode_folders, folder_names

episodes = st.lists(
    st.tuples(st.integers(0, 3), st.text(st.characters(blacklist_categories=())), st.integers(1, 3)),
    max_size=12,
    unique=True,
)


@given(episodes)
def test_names_are_unique_stay_inside_and_do_not_change(planned: list[tuple[int, str, int]]) -> None:
    names = folder_names(planned)
    assert len({name.casefold() for name in names}) == len(planned)
    assert all(Path(name).name == name and name.startswith("ep") and len(name) < 100 for name in names)
    assert names == folder_names(planned)


def test_the_first_task_of_an_index_has_the_plain_name() -> None:
    planned = [(3, "pick", 1), (3, "place", 1), (3, "pick", 2), (3, "place", 2), (4, "place", 1)]
    assert folder_names(planned) == ["ep0003", "ep0003_place", "ep0003_r2", "ep0003_place_r2", "ep0004"]


def test_path_tricks_long_names_and_case_are_harmless() -> None:
    planned = [(0, "first", 1)] + [
        (0, t, 1) for t in ("../../etc", "/etc", ".", "", "a" * 5000, "Kick", "kick")
    ]
    names = folder_names(planned)
    assert len({name.casefold() for name in names}) == len(names)
    assert not any("/" in name or ".." in name for name in names)
    assert names[-2:] == ["ep0000_Kick", "ep0000_kick~2"]


def test_finding_by_index_and_by_name(tmp_path: Path) -> None:
    for name in ("ep0003", "ep0003_place", "ep0030"):
        (tmp_path / name).mkdir()
    assert [p.name for p in find_episode_folders(tmp_path, "3")] == ["ep0003", "ep0003_place"]
    assert [p.name for p in find_episode_folders(tmp_path, "ep0003")] == ["ep0003"]
    assert find_episode_folders(tmp_path, "7") == []
    assert find_episode_folders(tmp_path, "../x") == []
    assert find_episode_folders(tmp_path / "none", "3") == []
