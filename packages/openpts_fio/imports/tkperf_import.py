"""Results of TKperf for SSDs as runs of the specification's tests: its rounds are theirs.

TKperf writes an element for each test: its options, a matrix of all rounds, and what it found of steady
state, each as JSON in the element's text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from xml.etree import ElementTree

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import procedure_of
from openpts.record.decoding import decode_json
from openpts.units import KIB, MIB, NS_PER_S, NS_PER_US, S_PER_YEAR, format_block_size
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.sample import OperationSample, Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, Duration, SteadyFigure, Step
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts_fio.figures import storable
from openpts_fio.imports.imported_run import ImportSettings, Results, Source, sample_of
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.rounds.script import element
from openpts_pts.shared.saturation import SaturationStep, steady_round_of
from openpts_pts.wsat import WriteSaturationConditions
from openpts_pts.wsat.script import workload_stimulus

_IOPS_MIXES: Final = (100, 95, 65, 50, 35, 5, 0)
_IOPS_SIZES: Final = (MIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
_LAT_MIXES: Final = (100, 65, 0)
_LAT_SIZES: Final = (8 * KIB, 4 * KIB, 512)
_TP_SIZES: Final = (MIB, 64 * KIB, 8 * KIB, 4 * KIB, 512)
_MINUTE_S: Final = 60
# Releases before it have steps of a minute, and leave options of the write saturation out
_WITH_RUNTIME: Final = (2, 1)
_OF_A_MINUTE: Final = "length of a step: before 2.1 TKperf does not state it, and it is 60 s"
_EVERY: Final = 30
_IDENTITY: Final = {"model": "Model Number", "serial": "Serial Number", "firmware": "Firmware Revision"}
_STEADY: Final = ("reachstdystate", "stdyrounds", "stdyvalues", "stdyavg", "stdyslope", "rndnr")
_MOST_TEXT: Final = 400

_Rate = Annotated[float, Meta(ge=0, le=1e15)]
_Whole = Annotated[int, Meta(ge=1, le=10_000)]
_Seconds = Annotated[int, Meta(ge=1, le=S_PER_YEAR)]
_Lats = tuple[_Rate, _Rate, _Rate]  # us: minimum, maximum, mean
_IopsRounds = list[tuple[tuple[_Rate, ...], ...]]
_LatRounds = list[tuple[tuple[_Lats, ...], ...]]
_TpRounds = list[tuple[tuple[_Rate, ...], tuple[_Rate, ...]]]  # KiB/s, for each size: reads, writes
_WsatRounds = tuple[tuple[_Rate, ...], tuple[_Lats, ...]]

Placed = tuple[StepPlace, Sample]


class _Test(Struct, frozen=True):
    """An element of the file with its options, as every test has them."""

    source: Source
    element: ElementTree.Element
    jobs: int
    depth: int
    runtime_s: int
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source, root: ElementTree.Element, found: ElementTree.Element) -> "_Test":
        version = re.match(r"(\d+)\.(\d+)", _text(source, root, "ioperfversion"))
        is_old = version is not None and (int(version[1]), int(version[2])) < _WITH_RUNTIME
        demand, missing = found, list[str]()
        if is_old and found.tag == "writesat" and found.find("numjobs") is None:
            # -nj and -iod are those of all tests but lat
            demand = next((one for tag in ("iops", "tp") if (one := root.find(tag)) is not None), found)
            missing.append(f"numjobs and iodepth: they are those of test {demand.tag}")
        runtime_s = None
        if not is_old or found.find("runtime") is not None:
            runtime_s = _value(source, found, "runtime", _Seconds | None)
        else:
            missing.append(_OF_A_MINUTE)
        return cls(
            source,
            found,
            _value(source, demand, "numjobs", _Whole),
            _value(source, demand, "iodepth", _Whole),
            runtime_s or _MINUTE_S,
            tuple(missing),
        )

    def rounds(self, kind: Any) -> Any:
        return _value(self.source, self.element, "roundmat", kind)

    def shape_error(self, what: str) -> Exception:
        return self.source.error(f"test {self.element.tag}: {what}, as no test of TKperf for SSDs has them")

    def sizes(self, all_sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
        """The block sizes; without 512 bytes on sectors of 4 KiB."""
        if count not in {len(all_sizes), len(all_sizes) - 1}:
            raise self.shape_error(f"{count} block sizes")
        return all_sizes[:count]

    def sizes_of(
        self, rounds: Sequence[Sequence[Sequence[object]]], mixes: int, all_sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The block sizes of rounds that have a row for each R/W mix."""
        if not rounds or any(len(matrix) != mixes for matrix in rounds):
            raise self.shape_error("other R/W mixes")
        sizes = self.sizes(all_sizes, len(rounds[0][0]))
        if any(len(row) != len(sizes) for matrix in rounds for row in matrix):
            raise self.shape_error("rows of unequal length")
        return sizes

    def sample(self, step: Step, began: int, operation: dict[str, OperationSample]) -> Sample:
        """A step of one runtime, the ``began``-th of its test."""
        length_ns = self.runtime_s * NS_PER_S
        return sample_of(step, [(operation, length_ns)], began * length_ns)


def tkperf_results(source: Source, settings: ImportSettings) -> tuple[Results, ...]:
    """A run for each test in the file. Raises UsageError for what is no file of TKperf."""
    root = _parsed(source)
    found: list[Results] = []
    for tag, read in _READERS.items():
        for one in root.findall(tag):
            test = _Test.of(source, root, one)
            try:
                conditions, steps, cycles, missing = read(test, settings)
            except OverflowError as error:
                raise source.error(f"test {tag}: a figure is larger than any run can have") from error
            found.append(
                Results(
                    tool=f"TKperf {_text(source, root, 'ioperfversion')}",
                    form=f"XML, test {tag}; {_text(source, one, 'fioversion') or 'fio'}",
                    conditions=conditions,
                    steps=steps,
                    cycles=cycles,
                    ended_at=_date(_text(source, root, "testdate")),
                    target="",
                    stated=tuple(_stated(root, one)),
                    missing=(*missing, *test.missing),
                    kernel=_text(source, root, "kernel") or None,
                    drive=_drive(_text(source, root, "devinfo")),
                )
            )
    if not found:
        raise source.error(f"it is no file of TKperf for an SSD: none of {', '.join(_READERS)} is in it")
    return tuple(found)


_Read = tuple[Conditions, tuple[Placed, ...], tuple[CycleFinished, ...], tuple[str, ...]]


def _iops(test: _Test, settings: ImportSettings) -> _Read:
    rounds: _IopsRounds = test.rounds(_IopsRounds)
    sizes = test.sizes_of(rounds, len(_IOPS_MIXES), _IOPS_SIZES)
    tracked = TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0)
    conditions = _conditions(
        test,
        settings,
        "iops",
        max_rounds=len(rounds),
        read_pcts=_IOPS_MIXES,
        block_sizes_bytes=sizes,
        tracking=(tracked,),
    )
    steps = _round_steps(test, conditions, rounds=rounds, operations=_rate_operations)
    written = [matrix[-1][sizes.index(4 * KIB)] for matrix in rounds]
    missing = (
        "response times",
        "counts of I/Os: they are the stated IOPS times the runtime, split by the R/W mix",
    )
    return conditions, tuple(steps), (_cycle(written),), missing


def _lat(test: _Test, settings: ImportSettings) -> _Read:
    rounds: _LatRounds = test.rounds(_LatRounds)
    sizes = test.sizes_of(rounds, len(_LAT_MIXES), _LAT_SIZES)
    if any(not mean > 0 for matrix in rounds for row in matrix for _, _, mean in row):
        raise test.source.error("test lat: an average response time is 0")
    tracked = TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0, SteadyFigure.MEAN_LATENCY)
    conditions = _conditions(
        test,
        settings,
        "lat",
        max_rounds=len(rounds),
        read_pcts=_LAT_MIXES,
        block_sizes_bytes=sizes,
        tracking=(tracked,),
    )
    steps = _round_steps(test, conditions, rounds=rounds, operations=_latency_operations)
    means = [matrix[-1][sizes.index(4 * KIB)][2] for matrix in rounds]
    missing = (
        "IOPS and counts of I/Os: they are the runtime over the average response time",
        "extremes of mixes: TKperf has weighted means of those of reads and writes",
        "distributions of response times",
    )
    return conditions, tuple(steps), (_cycle(means),), missing


def _tp(test: _Test, settings: ImportSettings) -> _Read:
    matrices: _TpRounds = test.rounds(_TpRounds)
    sizes = test.sizes(_TP_SIZES, len(matrices))
    if any(not reads or not writes for reads, writes in matrices):
        raise test.shape_error("no rounds")
    tracking = tuple(
        TrackingVariable(AccessPattern.SEQUENTIAL, size, 0, SteadyFigure.THROUGHPUT) for size in sizes
    )
    most = max(len(rates) for both in matrices for rates in both)
    conditions = _conditions(
        test, settings, "tp", max_rounds=most, read_pcts=(100, 0), block_sizes_bytes=sizes, tracking=tracking
    )
    steps: list[Placed] = []
    cycles: list[CycleFinished] = []
    for cycle, (size, (reads, writes)) in enumerate(zip(sizes, matrices, strict=True), start=1):
        of_size = [((read,), (write,)) for read, write in zip(reads, writes, strict=False)]
        cycle_conditions = replace(conditions, block_sizes_bytes=(size,))
        steps += _round_steps(
            test,
            cycle_conditions,
            rounds=of_size,
            operations=_throughput_operations,
            cycle=cycle,
            before=len(steps),
        )
        cycles.append(_cycle(writes[: len(of_size)], f"SEQ {format_block_size(size)}"))
    missing = ("response times", "counts of I/Os: they are the stated KiB/s times the runtime in blocks")
    return conditions, tuple(steps), tuple(cycles), missing


def _wsat(test: _Test, settings: ImportSettings) -> _Read:
    rates, latencies = test.rounds(_WsatRounds)
    if not rates or len(rates) != len(latencies):
        raise test.shape_error(f"{len(rates)} rounds with IOPS and {len(latencies)} with response times")
    minute_ns = test.runtime_s * NS_PER_S
    standard = procedure_of("wsat").standard_conditions(settings.drive_class, 0)
    assert isinstance(standard, WriteSaturationConditions)  # noqa: S101 the registry gives what it was asked for
    conditions = replace(
        standard,
        tc=test.jobs,
        qd=test.depth,
        minute_ns=minute_ns,
        tracking_period_ns=_EVERY * minute_ns,
        longest_ns=24 * 60 * 60 * NS_PER_S,
    )
    (workload,) = conditions.workloads
    step = Step.of(workload_stimulus(conditions, workload), Duration(minute_ns))
    steps: list[Placed] = []
    tracked: list[SaturationStep] = []
    for minute, (rate, lats) in enumerate(zip(rates, latencies, strict=True)):
        # the first minute is tracked, and then each thirtieth: the last one of its tracking round
        number, position = (1, 0) if not minute else (2 + (minute - 1) // _EVERY, (minute - 1) % _EVERY)
        sample = test.sample(step, minute, _write(rate, lats, test.runtime_s))
        steps.append((StepPlace(1, Phase.SATURATION, number, position), sample))
        tracked.append(SaturationStep(number, not minute or position == _EVERY - 1, sample))
    written = conditions.steady_after_drive_fills * settings.capacity_bytes
    outcome = Outcome(
        steady_round_of(tracked, minute_ns, written),
        sum(step.tracked for step in tracked),
        f"the end of {len(rates):,} rounds of TKperf",
    )
    missing = (
        "counts of I/Os: they are the stated IOPS times the runtime",
        "distributions of response times",
    )
    return conditions, tuple(steps), (CycleFinished(outcome, workload.title),), missing


_READERS: Final[Mapping[str, Callable[[_Test, ImportSettings], _Read]]] = {
    "iops": _iops,
    "tp": _tp,
    "lat": _lat,
    "writesat": _wsat,
}


def _conditions(test: _Test, settings: ImportSettings, name: str, **stated: Any) -> RoundConditions:
    """The specification's, with what the file states; the demand of preconditioning is that of the test."""
    standard = procedure_of(name).standard_conditions(settings.drive_class, 0)
    assert isinstance(standard, RoundConditions)  # noqa: S101 all three are
    return replace(
        standard,
        tc=test.jobs,
        qd=test.depth,
        minute_ns=test.runtime_s * NS_PER_S,
        precondition_passes=0 if name == "tp" else 2,
        **stated,
    )


def _round_steps(
    test: _Test,
    conditions: RoundConditions,
    *,
    rounds: Sequence[Sequence[Sequence[Any]]],
    operations: Callable[[Any, RoundPoint, int], dict[str, OperationSample]],
    cycle: int = 1,
    before: int = 0,
) -> list[Placed]:
    """All elements of all rounds, in the order of the loops, behind so many steps ``before``."""
    pattern = conditions.tracking[0].access_pattern
    steps: list[Placed] = []
    for number, matrix in enumerate(rounds, start=1):
        points = [
            (RoundPoint(pattern, size, read_pct), value)
            for read_pct, row in zip(conditions.read_pcts, matrix, strict=True)
            for size, value in zip(conditions.block_sizes_bytes, row, strict=True)
        ]
        for position, (point, value) in enumerate(points):
            done = operations(value, point, test.runtime_s)
            sample = test.sample(element(conditions, point), before + len(steps), done)
            steps.append((StepPlace(cycle, Phase.ROUND, number, position), sample))
    return steps


def _split(
    ios: int, point: RoundPoint, mean_ns: float = 0, least_ns: int | None = None, most_ns: int | None = None
) -> dict[str, OperationSample]:
    """So many I/Os as reads and writes in the mix of the point, with what is known of response times."""
    reads = round(ios * point.read_pct / 100)
    return {
        name: OperationSample(
            count, storable(count * point.block_size_bytes), storable(count * mean_ns), least_ns, most_ns, b""
        )
        for name, count in (("read", reads), ("write", ios - reads))
        if count
    }


def _rate_operations(iops: float, point: RoundPoint, runtime_s: int) -> dict[str, OperationSample]:
    return _split(storable(iops * runtime_s), point)


def _throughput_operations(kib_per_s: float, point: RoundPoint, runtime_s: int) -> dict[str, OperationSample]:
    moved_bytes = storable(kib_per_s * KIB * runtime_s)
    done = _split(round(moved_bytes / point.block_size_bytes), point)
    return {name: OperationSample(one.ios, moved_bytes, 0, None, None, b"") for name, one in done.items()}


def _latency_operations(
    lats: tuple[float, float, float], point: RoundPoint, runtime_s: int
) -> dict[str, OperationSample]:
    least_ns, most_ns, mean_ns = (one * NS_PER_US for one in lats)
    ios = max(1, storable(runtime_s * 1e6 / lats[-1]))
    if 0 < point.read_pct < 100:  # weighted means of two minima, and of two maxima
        return _split(ios, point, mean_ns)
    return _split(ios, point, mean_ns, storable(least_ns), storable(most_ns))


def _write(iops: float, lats: tuple[float, float, float], runtime_s: int) -> dict[str, OperationSample]:
    least, most, mean = (one * NS_PER_US for one in lats)
    point = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)
    return _split(storable(iops * runtime_s), point, mean, storable(least), storable(most))


def _cycle(values: Sequence[float], title: str = "") -> CycleFinished:
    """Steady in the last round, if the window that ends with it is steady: TKperf ends with its window."""
    last = len(values)
    steady = last >= WINDOW_ROUNDS and window_ending_at(values, last).steady
    return CycleFinished(Outcome(last if steady else None, last), title)


def _parsed(source: Source) -> ElementTree.Element:
    if b"<!DOCTYPE" in source.raw or b"<!ENTITY" in source.raw:
        raise source.error("it declares types or entities, which no file of TKperf has")
    try:
        return ElementTree.fromstring(source.raw)  # noqa: S314 without entities it only nests
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise source.error(f"its XML is damaged: {error}") from error


def _value(source: Source, above: ElementTree.Element, name: str, kind: Any) -> Any:
    text = above.findtext(name)
    if text is None:
        raise source.error(f"test {above.tag}: {name} is missing")
    try:
        return decode_json(text, kind)
    except msgspec.MsgspecError as error:
        raise source.error(f"test {above.tag}: {name}: {error}") from error


def _text(source: Source, above: ElementTree.Element, name: str) -> str:
    """A text of the file, without blanks around it; empty where it is not stated."""
    found = above.findtext(name)
    if not found:
        return ""
    try:
        text: Any = decode_json(found, str | None)
    except msgspec.MsgspecError as error:
        raise source.error(f"{name}: {error}") from error
    return str(text or "").strip()


def _date(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def _drive(info: str) -> dict[str, str]:
    found = {name: re.search(rf"{label}:[ \t]*(\S[^\n]*)", info) for name, label in _IDENTITY.items()}
    return {name: match[1].strip() for name, match in found.items() if match}


def _stated(root: ElementTree.Element, test: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """What TKperf found of steady state, and what it knew of the drive, in its own words."""
    for above, names in (
        (test, (*_STEADY, "tpramptime", "xargs")),
        (root, ("cmdline", "devinfo", "featmatrix", "lsb")),
    ):
        for name in names:
            text = " ".join((above.findtext(name) or "").split())
            if text not in {"", "null"}:
                yield f"TKperf: {name}", text[:_MOST_TEXT]
