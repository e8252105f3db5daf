"""Splits and episodes that an environment does not have, refused at once where that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.checking import open_catalog, prepare
from engine.control.introspection import introspect
from engine.control.plans import plan_run
from engine.control.reports import RefusedError, StartRequest
from engine.store.offers import keep_offer, last_offer, offer_of
from tests.fakes.workspace import NODESET

HAS = {"splits": ["val", "test"], "episode_counts": {"val": 10, "test": 3}}
ANSWER = """
    async def get_eval_metadata(self):
        import json, pathlib
        return json.loads(pathlib.Path({file!r}).read_text())
"""


@pytest.fixture
def data(root: Path) -> Path:
    """What the environment answers; whoever asks it takes what is there by then."""
    file = root / "data.json"
    (root / "workspace/nodesets/env_toy.py").write_text(NODESET + ANSWER.format(file=str(file)))
    say(file, HAS)
    return file


def say(file: Path, metadata: dict[str, Any]) -> None:
    import json

    file.write_text(json.dumps(metadata))


def refused(root: Path, **fields: Any) -> list[str]:
    try:
        plan_run(root, StartRequest(graph_name="toy", **fields))
    except RefusedError as error:
        return [f"{problem.where}: {problem.message} ({problem.remedy})" for problem in error.problems]
    return []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"split": "zzz"},
            "split: there is no split 'zzz'; the environment has val, test (choose one of them with --split)",
        ),
        (
            {"episode_indices": [0, 99999]},
            "episode_indices: episode 99999 is beyond the environment's 10 (0 to 9) (name others with"
            " --episodes)",
        ),
        (
            {"split": "test", "start_episode_index": 2, "episode_count": 4},
            "episode_count: episode 3 is beyond the environment's 3 (0 to 2) (ask for at most 1 with -n, or"
            " for --all)",
        ),
        (
            {"start_episode_index": 10},
            "start_episode_index: episode 10 is beyond the environment's 10 (0 to 9) (begin earlier with"
            " --start)",
        ),
    ],
)
def test_what_the_environment_was_asked_for_once_is_refused_at_once(
    root: Path, data: Path, fields: dict[str, Any], told: str
) -> None:
    assert refused(root, **fields) == []  # nobody has asked it: the run will
    introspect(prepare(open_catalog(root), "toy", root), root)
    assert refused(root, **fields) == [told]
    assert refused(root, split="val", episode_count=10) == []
    # Other data, or another machine's, may have it.
    assert refused(root, **fields, dataset="other") == []
    assert refused(root, **fields, selectors={"house": "a"}) == []
    assert refused(root, **fields, on="slurm") == []


@pytest.mark.slow
def test_it_is_asked_again_before_anything_is_refused(root: Path, data: Path) -> None:
    introspect(prepare(open_catalog(root), "toy", root), root)
    say(data, {"splits": ["zzz"], "episode_counts": {"zzz": 100_000}})
    assert refused(root, split="zzz", episode_indices=[99_999]) == []
    (told,) = refused(root, split="val")
    assert "the environment has zzz" in told
    data.unlink()
    assert refused(root, split="val") == []  # it does not answer, which the run tells


def test_what_a_nodeset_said_does_not_outlive_its_source(root: Path) -> None:
    env = open_catalog(root).nodesets["env_toy"]
    keep_offer(env, offer_of(HAS))
    assert last_offer(env) == offer_of(HAS)
    (root / "workspace/nodesets/env_toy.py").write_text(NODESET + "# changed")
    assert last_offer(open_catalog(root).nodesets["env_toy"]) is None


@pytest.mark.parametrize(
    "metadata", [{}, {"splits": None, "episode_counts": None}, {"splits": "ab", "episode_counts": {"a": "7"}}]
)
def test_what_says_nothing_of_the_kind_offers_nothing(metadata: dict[str, Any]) -> None:
    assert offer_of(metadata) == offer_of({})
