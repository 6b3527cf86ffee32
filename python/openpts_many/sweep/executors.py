"""Where points are computed: processes of this machine, or workers of Dask, also on Slurm."""

import asyncio
import multiprocessing
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from openpts.errors import FleetError, UsageError, failing_as
from openpts.parent_process import end_with_parent
from openpts.programs import ProgramError, run_program

JOB_NAME: Final = "openpts-sweep"
# the operator's configuration of Dask overrides it; times are limited as the partition's are
_OF_SLURM: Final = {"cores": 1, "processes": 1, "memory": "4GB", "walltime": None}
_TO_ANSWER_S: Final = 60.0
_TO_SUBMIT_S: Final = 10.0
_LOOK_MS: Final = 2000
_RARELY_MS: Final = 60_000


class _Processes(ProcessPoolExecutor):
    """Ctrl-C at a terminal reaches all processes; it waits for ever in those that compute, which so print
    nothing of it: this one ends them.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As any executor; processes are started in it, and have its mask of signals."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """So many processes of this machine, started anew: nothing of this one is shared with them.

    Raises FleetError if one is killed.
    """
    spawned = multiprocessing.get_context("spawn")
    executor = _Processes(count, spawned, end_with_parent, (os.getpid(),))
    try:
        yield executor
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.terminate()  # a point is minutes of work, and is computed again
        raise
    except BrokenProcessPool as error:
        raise FleetError(_lost("a process was killed, perhaps for lack of memory")) from error
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """The workers of the Dask scheduler at this address, such as ``tcp://10.0.0.5:8786``.

    Raises UsageError without Dask, and FleetError if no scheduler answers, or it gives a point up.
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
        yield from _executor_of(client)


@contextmanager
def slurm_workers(partition: str, count: int, folder: Path) -> Iterator[Executor]:
    """So many workers, as jobs in a partition of Slurm, gone at the end; lost ones are replaced.

    What they print is in ``folder``, and the keys by which scheduler and workers know each other: all hosts
    share it. Raises UsageError without dask-jobqueue, and FleetError if Slurm refuses the jobs, they end at
    once, or a point is given up.
    """
    try:
        import dask  # noqa: PLC0415 a package that only clusters need
        from distributed import Client  # noqa: PLC0415 likewise
        from distributed.utils import get_ip  # noqa: PLC0415 likewise

        of_ctrl_c = signal.getsignal(signal.SIGINT)
        from dask_jobqueue.slurm import SLURMCluster  # noqa: PLC0415 likewise

        signal.signal(signal.SIGINT, of_ctrl_c)  # which it takes when it is imported, to exit with status 0
    except ImportError as error:
        raise UsageError(_missing("dask-jobqueue")) from error
    [address, *_] = _said("sinfo", "-h", "-p", partition, "-o", "%o").split() or [""]
    if not address:
        raise FleetError(f"Slurm has no hosts in the partition {partition}: `sinfo` lists them")
    # laboratories have no route to the internet, by which Dask would look for its own address
    of_scheduler = {"host": get_ip(address), "dashboard": False}
    dask.config.update_defaults({"jobqueue": {"slurm": _OF_SLURM | {"scheduler-options": of_scheduler}}})
    folder.mkdir(parents=True, exist_ok=True)
    with SLURMCluster(
        queue=partition,
        job_name=JOB_NAME,
        log_directory=str(folder),
        shared_temp_directory=str(folder),
        protocol="tls",  # not left out: then Dask looks for the workers' addresses on the internet as well
        security=True,
    ) as cluster:
        words = [word for line in cluster.job_header.splitlines() for word in shlex.split(line)[1:]]
        _said("sbatch", "--test-only", *words, "--wrap=true")
        cluster.scale(jobs=count)
        with Client(cluster) as client:
            _wait_for_one(client, folder)
            _keep(cluster, count)
            yield from _executor_of(client)


def _keep(cluster: Any, count: int) -> None:
    """Replace workers that are lost, until the end.

    Dask takes a job whose worker it has not seen for one that waits: Slurm knows whether it has ended. As
    long as there is such a job, looks get rarer, so that hosts where none can start don't flood the queue.
    """
    from tornado.ioloop import PeriodicCallback  # noqa: PLC0415 a package that only clusters need

    seen = set[str]()

    async def look() -> None:
        workers = {worker["name"] for worker in cluster.scheduler_info["workers"].values()}
        seen.update(job.job_id for name, job in cluster.workers.items() if name in workers)
        unseen = {name: job.job_id for name, job in cluster.workers.items() if job.job_id not in seen}
        with suppress(FleetError):
            queued = await asyncio.to_thread(_jobs) if unseen else ()
            for name, job_id in unseen.items():
                if job_id not in queued:
                    cluster.workers.pop(name, None)
        keeper.callback_time = min(2 * keeper.callback_time, _RARELY_MS) if unseen else _LOOK_MS
        cluster.scale(jobs=count)

    keeper = PeriodicCallback(look, _LOOK_MS)
    cluster.periodic_callbacks[JOB_NAME] = keeper
    cluster.loop.add_callback(keeper.start)


def _jobs() -> Sequence[str]:
    """The IDs of our jobs that wait or run. Raises FleetError."""
    return _said("squeue", "-h", "--me", "-n", JOB_NAME, "-o", "%i").split()


def _wait_for_one(client: Any, folder: Path) -> None:
    """Until a worker is there. Raises FleetError once all jobs have ended without."""
    submitted_by_s = time.monotonic() + _TO_SUBMIT_S
    while not client.scheduler_info()["workers"]:
        if not _jobs() and time.monotonic() > submitted_by_s:
            raise FleetError(f"the workers' jobs ended before they were ready: {folder}/*.err say why")
        time.sleep(1)


def _said(*words: str) -> str:
    """What a command of Slurm prints. Raises FleetError where it fails."""
    with failing_as(FleetError, "can't ask Slurm", of=ProgramError):
        answer = run_program(words, _TO_ANSWER_S)
    if answer.returncode:
        raise FleetError(f"{words[0]} failed: {answer.complaint}")
    return answer.stdout


def _executor_of(client: Any) -> Iterator[Executor]:
    """Points are computed once, whatever worker is lost: a task that is run again gives the same result.

    Raises FleetError for one that Dask does not try again, as it has lost several workers.
    """
    from distributed import KilledWorker  # noqa: PLC0415 as above

    try:
        yield client.get_executor(pure=False)
    except KilledWorker as error:
        raise FleetError(_lost("worker after worker was killed, perhaps for lack of memory")) from error


def _lost(what: str) -> str:
    return f"{what}: the same command goes on with what is left to compute"


def _missing(package: str) -> str:
    return f"{package} is not installed: pip install 'openpts[sweep]'"
