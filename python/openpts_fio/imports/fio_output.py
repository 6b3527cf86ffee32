"""What fio printed as JSON, of the versions in the field: jobs with their operations, in ns and bytes."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

from openpts.analysis.latency import encode_counts
from openpts.record.decoding import decode_json
from openpts.units import KIB, NS_PER_MS, NS_PER_US
from openpts.vocabulary.sample import OperationSample
from openpts_fio.figures import MOST, Count, Figure, storable
from openpts_fio.imports.imported_run import Source
from openpts_fio.stated_percentiles import stated_percentiles

_TRANSFERS: Final = ("read", "write", "trim")
# fio writes the brace on a line of its own; with --status-interval it writes several objects
_OBJECT: Final = re.compile(rb"^\{\s*$", re.MULTILINE)
_TERSE: Final = re.compile(rb"^[2-5];fio-", re.MULTILINE)
_PRINTED: Final = re.compile(rb"^.+: \(groupid=\d+, jobs=\d+\): err=", re.MULTILINE)
_PLACE: Final = re.compile(r"byte (\d+)")
_NUMBERED: Final = "FIO_IO_U_PLAT_BITS"
_ALL_CLIENTS: Final = "All clients"
_BW_TOLERANCE: Final = 0.05
_SHORTEST_MS: Final = 100
_JSON: Final = "use --output-format=json+"

_Text = Annotated[str, Meta(max_length=64 * KIB)]


class _Latencies(Struct):
    """fio 2 has usec under names without a unit, fio 3 nsec under names that end in ``_ns``."""

    min: Figure = 0
    max: Figure = 0
    mean: Figure = 0
    bins: dict[str, Count] = {}
    percentile: dict[str, msgspec.Raw] = {}


class _Direction(Struct):
    total_ios: Count
    io_bytes: Count
    runtime: Count
    bw: Figure = 0
    lat_ns: _Latencies | None = None
    clat_ns: _Latencies | None = None
    lat: _Latencies | None = None
    clat: _Latencies | None = None


class _Job(Struct):
    jobname: _Text
    groupid: Count = 0
    error: int = 0
    options: Annotated[dict[str, str | None], Meta(max_length=1000)] = msgspec.field(
        name="job options", default_factory=dict
    )
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None


class _Output(Struct):
    version: _Text = msgspec.field(name="fio version", default="")
    timestamp: Annotated[int, Meta(ge=0, le=2**33)] | None = None
    options: Annotated[dict[str, str | None], Meta(max_length=1000)] = msgspec.field(
        name="global options", default_factory=dict
    )
    jobs: list[_Job] = []
    client_stats: list[_Job] = []


class FioJobResult(Struct, frozen=True):
    """One entry of fio's list of jobs. ``runtime_ns`` is the longest of its operations.

    ``stated`` has what a record has no place for; ``only_completion``: its histograms are of completion
    latencies, without the time of the submission.
    """

    name: str
    group: int
    options: Mapping[str, str | None]
    operations: dict[str, OperationSample]
    runtime_ns: int
    stated: tuple[tuple[str, str], ...] = ()
    only_completion: bool = False


class FioOutput(Struct, frozen=True):
    """All of one output. ``form`` names what kind of output it is, the last of ``reports`` in the file."""

    version: str
    form: str
    ended_at: datetime | None
    options: Mapping[str, str | None]
    jobs: tuple[FioJobResult, ...]
    reports: int = 1


def parse_output(source: Source) -> FioOutput:
    """Read fio's JSON, also behind and before other lines. Raises UsageError."""
    output, several = _decoded(source)
    # a sum over all clients comes last, and is no job
    jobs = output.jobs or [job for job in output.client_stats if job.jobname != _ALL_CLIENTS]
    if not jobs:
        raise source.error("its list of jobs is empty: fio ended before a job had begun")
    found = tuple(_job(source, job) for job in jobs)
    if not any(job.operations for job in found):
        raise source.error("no job did any I/O")
    has_bins = any(operation.histogram for job in found for operation in job.operations.values())
    form = f"JSON{'+' if has_bins else ''}{' of a server' if output.client_stats else ''}"
    ended = None if output.timestamp is None else datetime.fromtimestamp(output.timestamp, UTC)
    note = f", the last of {several} reports" if several > 1 else ""
    return FioOutput(output.version or "fio", form + note, ended, output.options, found, several)


def _decoded(source: Source) -> tuple[_Output, int]:
    raw = source.raw
    begins = [match.start() for match in _OBJECT.finditer(raw)] or [_compact_begin(raw)]
    begin, end = begins[-1], raw.rfind(b"}")
    if begin < 0 or end < begin:
        if _TERSE.search(raw):
            raise source.error(f"fio's terse output states neither the load nor exact counts; {_JSON}")
        if _PRINTED.search(raw):
            raise source.error(f"fio's normal output has rounded figures; {_JSON}")
        if begin >= 0:
            raise source.error("its JSON is cut off")
        raise source.error(f"it is no output of fio: it has no JSON; {_JSON}")
    try:
        return decode_json(raw[begin : end + 1], _Output), len(begins)
    except msgspec.ValidationError as error:
        raise source.error(f"it is no output of fio that openpts reads: {error}") from error
    except msgspec.MsgspecError as error:
        place = _PLACE.search(str(error))
        at = begin + int(place[1]) if place else len(raw)
        line = raw.count(b"\n", 0, at) + 1
        raise source.error(f"its JSON is damaged in line {line}: {error}") from error


def _compact_begin(raw: bytes) -> int:
    """Where JSON begins that another program has written again: at a line's start, if at any."""
    found = re.search(rb"^\{", raw, re.MULTILINE)
    return found.start() if found else raw.find(b"{")


def _job(source: Source, job: _Job) -> FioJobResult:
    if job.error:
        raise source.error(f"job {job.jobname} ended with error {job.error}: its figures are of a part of it")
    operations: dict[str, OperationSample] = {}
    runtime_ms, stated, only_completion = 0, [], False
    for name in _TRANSFERS:
        one: _Direction | None = getattr(job, name)
        if one is None or not one.total_ios:
            continue
        subject = f"{job.jobname}, {name}"
        try:
            moved_bytes = _bytes(one)
            if moved_bytes is None:
                raise source.error(f"{subject}: the unit of io_bytes is unknown: neither B nor KiB fit bw")
            read = _latencies(one)
            operations[name] = read.operation(one.total_ios, moved_bytes)
        except (OverflowError, ValueError) as error:
            raise source.error(f"{subject}: a figure is larger than any run can have") from error
        runtime_ms = max(runtime_ms, one.runtime)
        if not operations[name].histogram and (line := read.stated(job.jobname, name)):
            stated.append(line)
        only_completion |= bool(read.bins) and not read.of_all
    if operations and not runtime_ms:
        raise source.error(f"job {job.jobname} has I/Os and a runtime of 0")
    if runtime_ms * NS_PER_MS > MOST:
        raise source.error(f"job {job.jobname}: a figure is larger than any run can have")
    return FioJobResult(
        job.jobname,
        job.groupid,
        job.options,
        operations,
        runtime_ms * NS_PER_MS,
        tuple(stated),
        only_completion,
    )


def _bytes(one: _Direction) -> int | None:
    """fio 2 has KiB in the field that has bytes since fio 3: its throughput in KiB/s decides."""
    expected = one.bw * KIB * one.runtime / 1000
    if not expected or one.runtime < _SHORTEST_MS:
        return one.io_bytes
    fitting = (
        unit for unit in (1, KIB) if abs(one.io_bytes * unit / expected - 1) < _BW_TOLERANCE + KIB / expected
    )
    unit = next(fitting, None)
    return None if unit is None else storable(one.io_bytes * unit)


class _Read(Struct, frozen=True):
    """Response times in ns. ``of_all``: the bins are of these, and not of completion latencies."""

    least: float
    most: float
    mean: float
    bins: Counter[int] = field(default_factory=Counter)
    of_all: bool = True
    percentiles: Sequence[tuple[float, float]] = ()
    latency: str = ""
    unit: str = ""

    def stated(self, job: str, operation: str) -> tuple[str, str] | None:
        """The percentiles as a line, of ``latency`` in fio's word and in ``unit``; None without any."""
        return stated_percentiles(job, operation, self.latency, self.unit, self.percentiles)

    def operation(self, ios: int, moved_bytes: int) -> OperationSample:
        """With what is known; 0 and None stand for no response times. Raises OverflowError."""
        histogram = encode_counts(self.bins.items()) if self.bins else b""
        if not self.mean:  # options of fio switched the timing off
            return OperationSample(ios, moved_bytes, 0, None, None, histogram)
        least, most = storable(self.least), storable(self.most)
        total = storable(self.mean * ios)
        return OperationSample(ios, moved_bytes, total, least, most, histogram)


def _latencies(one: _Direction) -> _Read:
    """Total latencies, with the bins of these or else of completions; what was not timed is 0."""
    unit = 1 if one.lat_ns is not None or one.clat_ns is not None else NS_PER_US
    total, completion = (one.lat_ns, one.clat_ns) if unit == 1 else (one.lat, one.clat)
    total, completion = total or _Latencies(), completion or _Latencies()
    of_all = bool(total.bins) or not completion.bins
    binned = total if of_all else completion
    stated, name = (total, "lat") if total.percentile else (completion, "clat")
    return _Read(
        least=total.min * unit,
        most=total.max * unit,
        mean=total.mean * unit,
        bins=_bins(binned.bins, unit),
        of_all=of_all,
        percentiles=_percentiles(stated.percentile),
        latency=name,
        unit="ns" if unit == 1 else "us",
    )


def _bins(bins: Mapping[str, int], unit: int) -> Counter[int]:
    """Latency in ns and count of each bin: fio 3 names the latency, fio 2 the number of the bin."""
    found: Counter[int] = Counter()
    bits = bins.get(_NUMBERED)
    if bits is not None and not 0 < bits < 16:
        raise ValueError
    for name, ios in bins.items():
        if name.isascii() and name.isdecimal() and ios:
            latency = int(name[:20]) if bits is None else _latency_of_bin(int(name[:20]), bits)
            found[storable(latency * unit)] += ios
    storable(sum(found.values()))
    return found


def _latency_of_bin(number: int, bits: int) -> int:
    """The middle of a bin in fio's numbering: linear below, then as many bins in each power of two."""
    if number < 2 << bits:
        return number
    shift = (number >> bits) - 1
    if shift > 64:
        raise ValueError
    return (1 << shift + bits) + (number % (1 << bits) << shift) + (1 << shift - 1)


def _percentiles(stated: Mapping[str, msgspec.Raw]) -> Sequence[tuple[float, float]]:
    values: list[tuple[float, float]] = []
    for key, raw in stated.items():
        try:
            values.append((float(key), msgspec.json.decode(raw, type=Figure)))
        except (ValueError, msgspec.MsgspecError):
            continue  # fio 2 lists unused ones, and lengths of others
    return values
