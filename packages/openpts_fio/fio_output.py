"""Steps of a run in the form of fio's own output, for programs that read and draw it.

What is not known here is left out, as fio does for what it did not measure. Latencies are fio's ``lat``, from
submission to completion; ``slat`` and ``clat``, which divide it, are empty, as with its option disable_clat.
"""

import errno
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, Final

import msgspec

from openpts.analysis.latency import Figures
from openpts.procedures.kit.standing import red_line_of
from openpts.record.reader import Run, StepRecord, moment_of
from openpts.units import KIB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.sample import Measured, OperationSample, Sample, StreamSample
from openpts.vocabulary.stimulus import Stream
from openpts_fio.figures import percentiles_of

FORM: Final = "fio-3.33"
"""The release of fio whose ``json+`` has all keys that are written here, with their types."""

_DIRECTIONS: Final = ("read", "write", "trim")
_FIOS_PERCENTILES: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_PERCENTILES: Final = (*_FIOS_PERCENTILES, 99.999, 99.9999)  # fio takes up to 20
_BOUNDS: Final = {
    "latency_ns": (1, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    "latency_us": (NS_PER_US, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    "latency_ms": (NS_PER_MS, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)),
}
_WORDS: Final = {
    frozenset({"read"}): "read",
    frozenset({"write"}): "write",
    frozenset({"trim"}): "trim",
    frozenset({"read", "write"}): "rw",
}
_ENGINES: Final = {
    "io_uring-polled": "io_uring",
    "nvme-passthrough": "io_uring_cmd",
    "noop": "null",
    "sync": "psync",
}
_Part = Sample | StreamSample


def fio_files(run: Run) -> Iterator[dict[str, bytes]]:
    """The files of each step with I/O by their names: JSON, and a log each of bw, iops and lat by intervals.

    Folders and names are those of bench-fio, in a folder for each phase with its number.
    """
    version = f"{FORM} openpts"
    if mark := red_line_of(run):
        version += f", {mark}"
    used: set[str] = set()
    for step in run.steps:
        if step.sample.step.is_idle:
            continue
        name = _name(step)
        if name in used:  # as many are outstanding as in another step of the phase
            folder, _, file = name.rpartition("/")
            name = f"{folder}-{step.place.position}/{file}"
        used.add(name)
        yield {
            f"{name}.json": msgspec.json.format(msgspec.json.encode(_output(run, step, version)), indent=2),
            **dict(_logs(name, step.sample)),
        }


def _name(step: StepRecord) -> str:
    place, streams = step.place, step.sample.step.streams
    phase = f"{place.cycle}-{place.phase}-{place.number}"
    if len(streams) > 1:
        return f"{phase}/streams/streams"
    stimulus = streams[0].stimulus
    size = _size_text(stimulus.block_size_bytes)
    word = _direction(streams[0]) or "other"
    return f"{phase}/{size}-r{stimulus.read_pct:g}/{word}-iodepth-{stimulus.qd}-numjobs-{stimulus.tc}"


def _output(run: Run, step: StepRecord, version: str) -> dict[str, Any]:
    sample, manifest = step.sample, run.manifest
    ended = run.time_at(sample.started_ns + sample.elapsed_ns) or manifest.ended_at or manifest.started_at
    at = moment_of(ended)
    path = fact_of(manifest.engine, "io_path")
    return {
        "fio version": version,
        "timestamp": int(at.timestamp()),
        "timestamp_ms": int(at.timestamp() * 1000),
        "time": at.strftime("%a %b %d %H:%M:%S %Y"),
        "global options": {
            "filename": manifest.target.path.replace(":", "\\:"),  # a bare one divides names
            **({} if path is None else {"ioengine": _ENGINES.get(path, path)}),
            "direct": "1",
            "group_reporting": "1",
        },
        "jobs": [
            _with_stated(run, part[0], _job(step, number, *part))
            for number, part in enumerate(_parts(sample))
        ],
    }


def _parts(sample: Sample) -> Iterator[tuple[Stream, _Part, Sequence[Measured]]]:
    if not sample.streams:
        yield sample.step.streams[0], sample, sample.intervals
        return
    for number, (stream, part) in enumerate(zip(sample.step.streams, sample.streams, strict=True)):
        yield stream, part, [interval.streams[number] for interval in sample.intervals]


def _job(
    step: StepRecord, number: int, stream: Stream, part: _Part, intervals: Sequence[Measured]
) -> dict[str, Any]:
    sample, stimulus = step.sample, stream.stimulus
    busy_ns = part.elapsed_ns * stimulus.tc
    process_ns = 0 if part.cpu is None else part.cpu.process_ns
    return {
        "jobname": stream.name or str(step.place),
        "groupid": number,
        "error": 0 if sample.failure is None else errno.EIO,
        "eta": 0,
        "elapsed": math.ceil(part.elapsed_ns / NS_PER_S),
        "job options": _options(step, stream),
        **{name: _directed(name, part, sample, intervals) for name in _DIRECTIONS},
        "sync": _synced(part),
        "job_runtime": part.elapsed_ns // NS_PER_MS,
        "usr_cpu": min(100.0, 100 * process_ns / busy_ns) if busy_ns else 0.0,
        "sys_cpu": 0.0,
        **_shares(part),
        "latency_depth": stimulus.qd,
    }


def _options(step: StepRecord, stream: Stream) -> dict[str, str]:
    stimulus = stream.stimulus
    sizes = stimulus.block_sizes
    total = sum(size.weight for size in sizes)
    options = {
        "name": stream.name or str(step.place),
        "description": f"{step.place}: {stream}",
        "rw": _direction(stream),
        "bs": _size_text(stimulus.block_size_bytes),
        "iodepth": str(stimulus.qd),
        "numjobs": str(stimulus.tc),
    }
    if len(sizes) > 1:
        split = (f"{_size_text(size.block_size_bytes)}/{100 * size.weight / total:.3g}" for size in sizes)
        options["bssplit"] = ":".join(split)
    if 0 < stimulus.read_pct < 100:
        options["rwmixread"] = f"{stimulus.read_pct:.0f}"
    if 0 < stimulus.random_pct < 100:
        options["percentage_random"] = str(stimulus.random_pct)
    return {name: value for name, value in options.items() if value}


def _direction(stream: Stream) -> str:
    """fio's word for what is issued; empty where it has none."""
    weights = msgspec.structs.asdict(stream.stimulus.operations)
    word = _WORDS.get(frozenset(name for name in _DIRECTIONS if weights[name]), "")
    if stream.replay is not None or not word:
        return ""
    return f"rand{word}" if stream.stimulus.random_pct else word


def _size_text(size_bytes: int) -> str:
    return f"{size_bytes // KIB}k" if size_bytes % KIB == 0 else str(size_bytes)


def _directed(name: str, part: _Part, whole: Sample, intervals: Sequence[Measured]) -> dict[str, Any]:
    operation = part.operations[name]
    figures = Figures.of([operation], part.elapsed_ns)
    of_all = whole.operations[name].bytes
    some = [one for one in intervals if one.elapsed_ns and operation.ios]
    rates = [Figures.of([one.operations[name]], one.elapsed_ns) for one in some]
    bw = _spread([rate.bandwidth_bytes_per_s / KIB for rate in rates])
    iops = _spread([rate.iops for rate in rates])
    return {
        "io_bytes": operation.bytes,
        "io_kbytes": operation.bytes // KIB,
        "bw_bytes": int(figures.bandwidth_bytes_per_s),
        "bw": int(figures.bandwidth_bytes_per_s) // KIB,
        "iops": figures.iops,
        "runtime": part.elapsed_ns // NS_PER_MS if operation.ios else 0,
        "total_ios": operation.ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _latencies(_NO_FIGURES),
        "clat_ns": _latencies(_NO_FIGURES),
        "lat_ns": _latencies(figures),
        "bw_min": int(bw[0]),
        "bw_max": int(bw[1]),
        "bw_agg": 100 * operation.bytes / of_all if of_all else 0.0,
        "bw_mean": bw[2],
        "bw_dev": bw[3],
        "bw_samples": len(rates),
        "iops_min": int(iops[0]),
        "iops_max": int(iops[1]),
        "iops_mean": iops[2],
        "iops_stddev": iops[3],
        "iops_samples": len(rates),
    }


def _with_stated(run: Run, stream: Stream, job: dict[str, Any]) -> dict[str, Any]:
    """The job with percentiles that imported results state without a distribution, of whichever latency."""
    for name in _DIRECTIONS:
        latency, stated = percentiles_of(run.manifest.imported, stream.name.removesuffix(f".{name}"), name)
        if stated:
            key = f"{latency}_ns"
            known = job[name][key] if job[name][key]["N"] else {}
            job[name][key] = known | {"percentile": {f"{level:f}": ns for level, ns in stated.items()}}
    _, stated = percentiles_of(run.manifest.imported, stream.name, "sync")
    if stated:
        job["sync"]["lat_ns"]["percentile"] = {f"{level:f}": ns for level, ns in stated.items()}
    return job


_NO_FIGURES: Final = Figures.of((), 0)


def _spread(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Minimum, maximum, mean, standard deviation; all 0 without a value."""
    if not values:
        return 0.0, 0.0, 0.0, 0.0
    return min(values), max(values), fmean(values), stdev(values) if len(values) > 1 else 0.0


def _synced(part: _Part) -> dict[str, Any]:
    figures = Figures.of((part.flush, part.fsync), part.elapsed_ns)
    return {"total_ios": figures.ios, "lat_ns": _latencies(figures)}


def _latencies(figures: Figures) -> dict[str, Any]:
    """Exact but for the deviation, percentiles and bins, which are the histogram's; a bin is its middle.

    All 0 without an I/O, as fio has it; of imported I/Os what their source states, and N is 0 without any.
    """
    if not figures.ios:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    exact = {"min": figures.min_latency_ns, "max": figures.max_latency_ns, "mean": figures.mean_latency_ns}
    found = {name: value for name, value in exact.items() if value is not None}
    found |= _distributed(figures) if figures.distribution.count else {}
    return found | {"N": figures.ios if found else 0}


def _distributed(figures: Figures) -> dict[str, Any]:
    bins = {(low + high) // 2: count for low, high, count in figures.distribution.buckets()}
    middle_ns = sum(value_ns * count for value_ns, count in bins.items()) / figures.ios
    squares = math.fsum(count * (value_ns - middle_ns) ** 2 for value_ns, count in bins.items())
    percentiles = {f"{percentile:f}": figures.percentile_ns(percentile) for percentile in _PERCENTILES}
    return {
        "stddev": math.sqrt(squares / (figures.ios - 1)) if figures.ios > 1 else 0.0,
        "percentile": {name: value_ns for name, value_ns in percentiles.items() if value_ns is not None},
        "bins": {str(value_ns): count for value_ns, count in bins.items()},
    }


def _shares(part: _Part) -> dict[str, dict[str, float]]:
    """Per cent of the transfers below each bound and not below the one before, each unit from 1 on.

    Nothing where the transfers were imported without a distribution.
    """
    figures = Figures.of(part.transfers, part.elapsed_ns)
    if figures.ios and not figures.distribution.count:
        return {}
    upper = [unit_ns * bound for unit_ns, bounds in _BOUNDS.values() for bound in bounds]
    counts = [0] * (len(upper) + 1)
    at = 0
    for low, high, count in figures.distribution.buckets():
        while at < len(upper) and (low + high) // 2 >= upper[at]:
            at += 1
        counts[at] += count
    shares = iter(100 * count / figures.ios if figures.ios else 0.0 for count in counts)
    found = {name: {str(bound): next(shares) for bound in bounds} for name, (_, bounds) in _BOUNDS.items()}
    found["latency_ms"][">=2000"] = next(shares)
    return found


def _logs(name: str, sample: Sample) -> Iterator[tuple[str, bytes]]:
    """fio's logs of each job: ms since the step began, value, direction, block size 0, offset 0.

    A line for each interval and each direction that the job has; lat has none without an I/O.
    """
    for job, (_, part, intervals) in enumerate(_parts(sample), 1):
        directions = [(n, each) for n, each in enumerate(_DIRECTIONS) if part.operations[each].ios]
        lines: Mapping[str, list[str]] = {"bw": [], "iops": [], "lat": []}
        for whole, interval in zip(sample.intervals, intervals, strict=True):
            ended_ns = whole.index * sample.interval_ns + whole.elapsed_ns
            for number, direction in directions:
                values = _logged(interval.operations[direction], interval.elapsed_ns)
                for kind, value in values.items():
                    lines[kind].append(f"{ended_ns // NS_PER_MS}, {value}, {number}, 0, 0\n")
        for kind, of_kind in lines.items():
            yield f"{name}_{kind}.{job}.log", "".join(of_kind).encode()


def _logged(operation: OperationSample, elapsed_ns: int) -> dict[str, int]:
    figures = Figures.of([operation], elapsed_ns)
    values = {"bw": int(figures.bandwidth_bytes_per_s / KIB), "iops": int(figures.iops)}
    mean_ns = figures.mean_latency_ns
    return values if mean_ns is None else {**values, "lat": int(mean_ns)}
