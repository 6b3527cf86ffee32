"""What fio prints at its end: JSON+ with every job, and lines about I/Os that failed."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from openpts.analysis.latency import encode_counts
from openpts.engine.fio.operations import sync_name
from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import NOTHING, IoErrors, IoFailure, OperationSample
from openpts.vocabulary.stimulus import Stimulus

_FAILED_IO: Final = re.compile(
    r"fio: io_u error on file .*: (?P<reason>[^:]+): (?P<operation>\w+) "
    r"offset=(?P<offset>\d+), buflen=(?P<length>\d+)"
)
_MOST_OFFSETS: Final = 16


class NoResultError(Exception):
    """fio ended without a result; the text is why, as far as it said so."""


@dataclass(frozen=True, slots=True)
class FioResult:
    """All jobs of one fio process together.

    ``elapsed_ns`` is the longest of the jobs' run times, which fio has in milliseconds.
    ``process_ns`` is processor time of the jobs' threads, not that of fio's start and end.
    """

    operations: dict[str, OperationSample]
    elapsed_ns: int
    process_ns: int
    failure: IoFailure | None
    errors: tuple[IoErrors, ...]


def parse_result(stdout: str, stderr: str, stimulus: Stimulus) -> FioResult:
    """Read fio's output. Raises NoResultError where there is none."""
    jobs = _jobs(stdout, stderr)
    sync = sync_name(stimulus)
    names = {"read": "read", "write": "write", "trim": "trim", "sync": sync}
    operations = {
        name: _operation([job[section] for job in jobs])
        for section, name in names.items()
        if section in jobs[0]
    }
    runtimes_ms = [job[direction]["runtime"] for job in jobs for direction in ("read", "write", "trim")]
    errors = _errors(stderr)
    return FioResult(
        operations=operations,
        elapsed_ns=max(runtimes_ms) * NS_PER_MS,
        process_ns=sum(_processor_ns(job) for job in jobs),
        failure=_failure(jobs, stderr) or _short_transfer(operations, stimulus),
        errors=errors,
    )


def _jobs(stdout: str, stderr: str) -> list[dict[str, Any]]:
    # fio prints its messages before and after the object
    begin, end = stdout.find("{"), stdout.rfind("}")
    try:
        jobs: list[dict[str, Any]] = json.loads(stdout[begin : end + 1])["jobs"]
        jobs[0]["job_runtime"]  # of a job that was set up
    except (ValueError, KeyError, IndexError, TypeError):
        said = [
            line for line in (*stderr.splitlines(), *stdout[: max(begin, 0)].splitlines()) if line.strip()
        ]
        raise NoResultError(
            said[0].removeprefix("fio: ").strip() if said else "it printed no message"
        ) from None
    return jobs


def _operation(sections: Iterable[dict[str, Any]]) -> OperationSample:
    """One direction of all jobs: counts and sums add up, extremes are extremes, bins are merged.

    After a ramp-up fio has timed the I/Os that were outstanding at its end and does not count them.
    """
    active = [section for section in sections if section["total_ios"]]
    if not active:
        return NOTHING
    bins: Counter[int] = Counter()
    for section in active:
        bins.update({int(value_ns): count for value_ns, count in section["lat_ns"].get("bins", {}).items()})
    return OperationSample(
        ios=sum(section["total_ios"] for section in active),
        bytes=sum(section.get("io_bytes", 0) for section in active),
        latency_sum_ns=sum(round(section["lat_ns"]["mean"] * section["total_ios"]) for section in active),
        latency_min_ns=min(section["lat_ns"]["min"] for section in active),
        latency_max_ns=max(section["lat_ns"]["max"] for section in active),
        histogram=encode_counts(bins.items()),
    )


def _processor_ns(job: dict[str, Any]) -> int:
    busy_pct = float(job["usr_cpu"]) + float(job["sys_cpu"])
    return round(busy_pct / 100 * float(job["job_runtime"]) * NS_PER_MS)


def _failure(jobs: Iterable[dict[str, Any]], stderr: str) -> IoFailure | None:
    """The first I/O that failed, or else the error that a job ended with."""
    found = _FAILED_IO.search(stderr)
    if found:
        return IoFailure(found["operation"], int(found["offset"]), int(found["length"]), found["reason"])
    codes = [job["error"] for job in jobs if job["error"]]
    return IoFailure("job", 0, 0, os.strerror(codes[0])) if codes else None


def _errors(stderr: str) -> tuple[IoErrors, ...]:
    offsets: dict[tuple[str, str], list[int]] = {}
    for found in _FAILED_IO.finditer(stderr):
        offsets.setdefault((found["operation"], found["reason"]), []).append(int(found["offset"]))
    return tuple(
        IoErrors(operation, reason, len(places), tuple(places[:_MOST_OFFSETS]))
        for (operation, reason), places in offsets.items()
    )


def _short_transfer(operations: dict[str, OperationSample], stimulus: Stimulus) -> IoFailure | None:
    """fio's asynchronous engines count a short transfer as a whole I/O without a word; the bytes tell."""
    smallest = min(size.block_size_bytes for size in stimulus.block_sizes)
    for name in ("read", "write", "trim"):
        sample = operations.get(name, NOTHING)
        missing_bytes = sample.ios * smallest - sample.bytes
        if missing_bytes > 0:
            return IoFailure(
                name, 0, 0, f"short transfers: {missing_bytes} B are missing, fio does not say where"
            )
    return None
