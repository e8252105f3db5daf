from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.scheduling.launchers import closing
from tests.fakes.real_runs import NODESETS
from tests.fakes.slurm_cluster import Cluster, ClusterFailed
from tests.fakes.workspace import make_root


@pytest.fixture
def world(tmp_path: Path, manifests: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root for real run processes, with the nodesets of ``tests/fakes``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(manifests))
    root = tmp_path / "root"
    (root / "workspace").mkdir(parents=True)
    (root / "workspace" / "nodesets").symlink_to(NODESETS)
    return root


@pytest.fixture
def root(tmp_path: Path, manifests: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with the graph ``toy``; its runs have a family, and end as the selector ``fake`` says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(manifests))
    monkeypatch.setattr(closing, "RUN_PROCESS", "tests.fakes.family_run")
    return make_root(tmp_path / "root")


@pytest.fixture(scope="session")
def lasting_cluster() -> Iterator[Cluster]:
    with started() as cluster:
        yield cluster


@pytest.fixture
def cluster(lasting_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Where Slurm's commands go: the same one for all tests, with no job of another's. Leave it as it was."""
    monkeypatch.setenv("SLURM_CONF", str(lasting_cluster.conf))
    yield lasting_cluster
    lasting_cluster.clear()


@pytest.fixture
def own_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """One that the test may break."""
    with started() as cluster:
        monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
        yield cluster


def started() -> Cluster:
    """It is up already when it is entered, so that a test fails with the reason alone where it is not."""
    try:
        return Cluster()
    except ClusterFailed as failed:
        pytest.fail(str(failed), pytrace=False)
