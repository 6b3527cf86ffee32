"""Where points are computed: processes of this machine, or workers of Dask, also on Slurm."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from openpts.errors import FleetError, UsageError


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """So many processes of this machine, started anew: nothing of this one is shared with them."""
    executor = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """The workers of the Dask scheduler at this address, such as ``tcp://10.0.0.5:8786``.

    Raises UsageError without Dask, and FleetError if no scheduler answers.
    """
    try:
        from distributed import Client  # noqa: PLC0415 a package that only clusters need
    except ImportError as error:
        raise UsageError(_missing("distributed")) from error
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise FleetError(f"can't reach a Dask scheduler at {address}: {error}") from error
    with client:
        yield _executor_of(client)


@contextmanager
def slurm_workers(partition: str, count: int) -> Iterator[Executor]:
    """So many workers of one processor each, as jobs in a partition of Slurm, gone at the end.

    Raises UsageError without dask-jobqueue, and FleetError if the jobs can't be submitted.
    """
    try:
        from dask_jobqueue.slurm import SLURMCluster  # noqa: PLC0415 a package that only clusters need
        from distributed import Client  # noqa: PLC0415 likewise
    except ImportError as error:
        raise UsageError(_missing("dask-jobqueue")) from error
    with SLURMCluster(queue=partition, cores=1, processes=1, memory="4GB") as cluster:
        try:
            cluster.scale(jobs=count)
        except (OSError, RuntimeError) as error:
            raise FleetError(f"can't submit workers to the partition {partition}: {error}") from error
        with Client(cluster) as client:
            yield _executor_of(client)


def _executor_of(client: Any) -> Executor:
    """Points are computed once, whatever worker is lost: a task that is run again gives the same result."""
    executor: Executor = client.get_executor(pure=False)
    return executor


def _missing(package: str) -> str:
    return f"{package} is not installed: pip install 'openpts[sweep]'"
