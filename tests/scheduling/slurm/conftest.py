from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.slurm_cluster import Cluster, ClusterFailed


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
