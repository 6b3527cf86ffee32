from collections.abc import Iterator

import pytest

from openpts_batch.tests.fleet.cluster import Cluster, missing, slurm_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if why := missing():
        pytest.skip(why)
    with slurm_cluster() as running:
        yield running
