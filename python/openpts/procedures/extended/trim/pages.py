"""Pages of the test of trims: rates and response times, what is beside trims, what trimmed LBAs read as."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.analysis.response_times import nines_supported
from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, Plot, PlotName, column_series, grid, page, table, values_of
from openpts.pages.model import Axis, Cell, Column, Figure, Page, Table, Verdict
from openpts.procedures.extended.trim.conditions import TrimConditions
from openpts.procedures.extended.trim.results import (
    FACTOR_LIMIT,
    PERCENTILES,
    RATE_LIMIT,
    STALL_NS,
    Beside,
    Effect,
    RatePoint,
    Times,
    size_name,
)
from openpts.procedures.shared.methodology import nothing_page
from openpts.record.reader import Run
from openpts.units import KIB, MB, NS_PER_MS, format_block_size, format_latency_ms
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.trimmed_reads import PromiseKept, TrimLimits, TrimmedReads

_COLORS: Final = (2, 3, 1, 6, 4, 5)
_SHOWN_PCTS: Final = (50.0, 99.0, 99.9)
_LEAST_NINES: Final = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrimRun:
    """Everything that the pages show of a run; what was not measured is empty or None.

    ``trims`` are those beside reads and writes: their stimulus and what became of them.
    """

    run: Run
    conditions: TrimConditions
    points: tuple[RatePoint, ...]
    beside: dict[str, Beside]
    trims: tuple[Stimulus, Times] | None
    trimmed: TrimmedReads | None

    def point(self, size_bytes: int, qd: int) -> RatePoint | None:
        """The point of that size with so many outstanding."""
        return next((one for one in self.points if (one.size_bytes, one.qd) == (size_bytes, qd)), None)

    @property
    def sizes_bytes(self) -> tuple[int, ...]:
        """Those of which any point was measured, in rising order."""
        return tuple(sorted({point.size_bytes for point in self.points}))

    @property
    def trims_text(self) -> str:
        """What was beside reads and writes: ``trims of 32 MiB, 10.0/s``."""
        if self.trims is None:
            return "trims"
        stimulus, times = self.trims
        return f"trims of {size_name(stimulus.block_size_bytes)}, {cells.fixed(times.per_s, 1)}/s"


def rates_page(measured: TrimRun) -> Page:
    """Trims per second and MB/s over size, a line for each queue depth, and the response times of each."""
    name = PlotName("trim-rates", "Plot X-TRIM-1", "Rate of Trims v Size")
    if not measured.points:
        return nothing_page(name.id, name.title, "no trim was measured")
    rate = _rate_figure(measured, name, "per-s", "Trims/s", lambda times: times.per_s)
    speed_name = PlotName(name.id, "Plot X-TRIM-2", "Trimmed MB/s v Size")
    speed = _rate_figure(measured, speed_name, "speed", "MB/s", lambda times: times.bytes_per_s / MB)
    prepared = Verdict(
        "Prepared: each LBA that a point trims was written just before in SEQ "
        f"{format_block_size(measured.conditions.sequential_block_size_bytes)}, and is trimmed once. Each "
        "trim outstanding has a thread of its own."
    )
    return page(
        name, rate[0], speed[0], prepared, *_limits(measured), rate[1], speed[1], _times_table(measured)
    )


def _rate_figure(
    measured: TrimRun, name: PlotName, part: str, unit: str, value_of: Callable[[Times], float]
) -> tuple[Figure, Table]:
    def cell(size_bytes: int, qd: int) -> Cell:
        point = measured.point(size_bytes, qd)
        return cells.missing("no room") if point is None else cells.number(value_of(point.times), 1)

    shown = grid(
        f"{name.id}-{part}",
        f"{name.title}, {unit}",
        Col("Size", lambda size: Cell(size_name(size), size / KIB), width=0),
        [(Column(f"QD {qd}"), qd) for qd in measured.conditions.qds],
        measured.sizes_bytes,
        cell=cell,
    )
    plot = Plot(
        x=_size_axis(measured.sizes_bytes),
        y=lambda values: ticks.log_axis(unit, values),
        series=column_series(shown, color_of=lambda n, _column: _COLORS[n % len(_COLORS)]),
        alt=f"{{rows}} sizes, from {{low}} to {{high}} {unit}.",
        decimals=1,
        height_px=260,
        part=part,
    )
    return plot.over(name, shown), shown


def _size_axis(sizes_bytes: Sequence[int]) -> Axis:
    """Logarithmic, every size ticked by its name."""
    axis = ticks.block_size_axis([size / KIB for size in sizes_bytes])
    return replace(axis, title="Size", labels=tuple(map(size_name, sizes_bytes)))


def _limits(measured: TrimRun) -> tuple[Verdict, ...]:
    """Sizes that the kernel splits, and those that the drive may leave alone."""
    limits = TrimLimits() if measured.trimmed is None else measured.trimmed.limits
    most, granule = limits.most_bytes, limits.granularity_bytes
    split = [size for size in measured.sizes_bytes if most and size > most]
    small = [size for size in measured.sizes_bytes if granule and size < granule]
    found = []
    if split and most:
        found.append(
            f"The kernel splits trims of {_sizes(split)}: it sends at most {size_name(most)} in one "
            f"command ({limits.source})."
        )
    if small and granule:
        found.append(
            f"Trims of {_sizes(small)} are smaller than the unit in which this device trims, "
            f"{size_name(granule)}: it may leave their data as they are."
        )
    left_out = [
        f"{size_name(size)} QD {qd}"
        for size in measured.conditions.sizes_bytes
        for qd in measured.conditions.qds
        if measured.point(size, qd) is None
    ]
    if left_out:
        found.append(
            f"Not measured: {', '.join(left_out)}; the range has no room for them, or the run ended."
        )
    return tuple(Verdict(text) for text in found)


def _sizes(sizes_bytes: Sequence[int]) -> str:
    return ", ".join(size_name(size) for size in sizes_bytes)


def _times_table(measured: TrimRun) -> Table:
    most = None if measured.trimmed is None else measured.trimmed.limits.most_bytes
    columns: list[Col[RatePoint]] = [
        Col("Trims", lambda point: cells.count(point.times.sample.ios)),
        Col("Mean (ms)", lambda point: cells.latency(point.times.mean_ns)),
        *_percentile_columns(_SHOWN_PCTS, lambda point: point.times),
        Col("Longest (ms)", lambda point: cells.latency(point.times.max_ns)),
        Col(
            "Commands per trim",
            lambda point: cells.count(-(-point.size_bytes // most)) if most else cells.missing("not known"),
        ),
    ]
    return table(
        "trim-rates-times",
        "Response times of trims",
        Col(
            "Size, QD",
            lambda point: Cell(f"{size_name(point.size_bytes)}, {point.qd}"),
            align="left",
            width=0,
        ),
        columns,
        measured.points,
    )


def _percentile_columns(percentiles: Sequence[float], times_of: Callable[[T], Times]) -> list[Col[T]]:
    def column(pct: float) -> Col[T]:
        return Col(f"{pct:.10g} % (ms)", lambda thing: _percentile(times_of(thing), pct))

    return [column(pct) for pct in percentiles]


def _percentile(times: Times, pct: float) -> Cell:
    found_ns = times.percentile_ns(pct)
    return cells.missing(f"below {ios_needed(pct):,} I/Os") if found_ns is None else cells.latency(found_ns)


def effect_verdict(measured: TrimRun, name: str) -> Verdict:
    """What trims do to the reads or the writes, with the figures that decide it."""
    beside = measured.beside.get(name)
    if beside is None:
        return Verdict(f"{name.capitalize()} beside trims: n/a (not measured).", "fail")
    what = f"{name.capitalize()} beside {measured.trims_text}: {beside.effect.value}"
    pct = beside.judged_pct
    if pct is None:
        return Verdict(f"{what}{_broken(beside)}; too few I/Os for a percentile.", "info")
    factor = beside.factor(pct)
    figures = (
        f"{pct:.10g} % within {_ms(beside.beside.percentile_ns(pct))} ms, without trims "
        f"{_ms(max(times.percentile_ns(pct) or 0 for times in beside.alone))} ms"
        f"{'' if factor is None else f' (factor {cells.fixed(factor, 2)}, limit {FACTOR_LIMIT:g})'}; "
        f"longest {_ms(beside.beside.max_ns)} ms, without trims {_ms(beside.longest_alone_ns)} ms"
    )
    if beside.effect is Effect.UNDECIDED:
        faster_ns = min(times.percentile_ns(pct) or 0 for times in beside.alone)
        figures += f"; in the faster load {_ms(faster_ns)} ms: the loads differ too much to tell"
    tone = "fail" if beside.effect is Effect.STALLED else "info"
    return Verdict(f"{what}{_broken(beside)}. {figures}.", tone)


def _broken(beside: Beside) -> str:
    words = {
        "percentile": "response times",
        "longest": f"a stall of {_ms(beside.beside.max_ns)} ms",
        "rate": f"{cells.fixed(100 * (beside.rate_share or 0), 1)} % of the rate",
    }
    return f" ({', '.join(words[reason] for reason in beside.reasons)})" if beside.reasons else ""


def _ms(time_ns: float | None) -> str:
    return "n/a" if time_ns is None else format_latency_ms(time_ns)


def beside_page(measured: TrimRun) -> Page:
    """Reads and writes without trims and beside them: percentiles, factors and curves."""
    name = PlotName("trim-beside", "Plot X-TRIM-3", "Reads and Writes beside Trims")
    if not measured.beside:
        return nothing_page(
            name.id, name.title, "the loads without trims and beside them were not all measured"
        )
    curves = _curves_table(measured)
    verdicts = [effect_verdict(measured, what) for what in measured.beside]
    rule = Verdict(
        f"Rule: stalled if the judged percentile is {FACTOR_LIMIT:g} times that of the slower load without "
        f"trims, or the longest takes more than {STALL_NS / NS_PER_MS:g} ms and {FACTOR_LIMIT:g} times as "
        f"long, or less than {100 * RATE_LIMIT:g} % of the rate is left; clean if that does not "
        "hold against the faster load either; else no verdict. I/Os come at fixed "
        "rates: response times count from the planned moment."
    )
    return page(
        name, *_curves_figure(measured, name, curves), *verdicts, rule, _loads_table(measured), curves
    )


def _loads_table(measured: TrimRun) -> Table:
    rows = [
        (f"{what.capitalize()} {when}", times)
        for what, beside in measured.beside.items()
        for when, times in (
            ("before trims", beside.before),
            ("beside trims", beside.beside),
            ("after trims", beside.after),
        )
    ]
    if measured.trims is not None:
        rows.append(("Trims beside", measured.trims[1]))
    columns: list[Col[tuple[str, Times]]] = [
        Col("Per second", lambda row: cells.number(row[1].per_s, 1)),
        Col("Mean (ms)", lambda row: cells.latency(row[1].mean_ns)),
        *_percentile_columns((*_SHOWN_PCTS, 99.99), lambda row: row[1]),
        Col("Longest (ms)", lambda row: cells.latency(row[1].max_ns)),
    ]
    head: Col[tuple[str, Times]] = Col("Load", lambda row: Cell(row[0]), align="left", width=0)
    return table("trim-beside-loads", "Without trims and beside them", head, columns, rows)


def _curves_table(measured: TrimRun) -> Table:
    """Percentiles up to the nines that any load has I/Os for, and the factors."""
    shown = [
        (f"{what.capitalize()} {when}", times)
        for what, beside in measured.beside.items()
        for when, times in (("alone", beside.before), ("beside trims", beside.beside))
    ]
    pcts = [pct for pct in PERCENTILES if any(times.percentile_ns(pct) is not None for _, times in shown)]
    columns: list[Col[float]] = [_curve(f"{label} (ms)", times) for label, times in shown]
    columns += [_factors(what, beside) for what, beside in measured.beside.items()]
    head: Col[float] = Col("I/Os (%)", lambda pct: Cell(f"{pct:.10g}", pct), width=0)
    return table("trim-beside-percentiles", "Response times by share of the I/Os", head, columns, pcts)


def _curve(label: str, times: Times) -> Col[float]:
    return Col(label, lambda pct: _percentile(times, pct))


def _factors(what: str, beside: Beside) -> Col[float]:
    return Col(f"Factor, {what}", lambda pct: cells.number_or("below the I/Os needed", beside.factor(pct), 2))


def _curves_figure(measured: TrimRun, name: PlotName, shown: Table) -> tuple[Figure, ...]:
    if not values_of(shown):
        return ()
    lines = 2 * len(measured.beside)
    nines = max(
        _LEAST_NINES, *(nines_supported(one.beside.distribution.count) for one in measured.beside.values())
    )
    plot = Plot(
        x=ticks.nines_axis("Share of the I/Os", min(nines, 5)),
        y=lambda values: ticks.log_axis("Response time (ms)", values),
        series=column_series(shown, color_of=lambda n, _column: _COLORS[n % len(_COLORS)])[:lines],
        alt="{rows} shares of the I/Os, from {low} to {high} ms.",
        decimals=None,
        height_px=300,
    )
    return (plot.over(name, shown),)


def promise_verdict(measured: TrimRun) -> Verdict:
    """What trimmed LBAs read as, and whether that is what the drive promises."""
    found = measured.trimmed
    if found is None:
        return Verdict("Reads of trimmed LBAs: n/a (not measured).", "fail")
    tone = {PromiseKept.NOT_AS_PROMISED: "fail", PromiseKept.AS_PROMISED: "pass"}.get(found.kept, "info")
    if not found.sectors:
        return Verdict(f"Reads of trimmed LBAs: n/a ({found.reason}).", tone)
    promised = f"promised: {found.promise.value} ({found.source})"
    return Verdict(f"Reads of trimmed LBAs: {found.kept.value}. Seen: {found.seen}; {promised}.", tone)


def trimmed_page(measured: TrimRun) -> Page:
    """The promise, the counts and the limits."""
    page_id, title = "trim-reads", "Reads of Trimmed LBAs"
    found = measured.trimmed
    if found is None:
        return nothing_page(page_id, title, "no trimmed LBA was read")
    limits = found.limits

    def size(size_bytes: int | None) -> str | Cell:
        return cells.missing("not reported") if size_bytes is None else f"{size_bytes:,} B"

    rows: list[tuple[str, str | Cell]] = [
        ("Promised", found.promise.value),
        ("Source", found.source),
        ("Verdict", found.kept.value),
        ("Sectors written, read back, trimmed, read twice", f"{found.sectors:,}"),
        ("Zeros", f"{found.zeros:,}"),
        ("Ones", f"{found.ones:,}"),
        ("Old data", f"{found.old:,}"),
        ("Other data", f"{found.other:,}"),
        ("Different in both reads", f"{found.unstable:,}"),
        ("Largest trim in one command", size(limits.most_bytes)),
        ("Largest that the drive takes", size(limits.hardware_most_bytes)),
        ("Unit of trims", size(limits.granularity_bytes)),
        ("Source of these limits", limits.source or cells.missing("not reported")),
    ]
    note = "The interface lets a drive ignore a trim: old data breaks no promise." if found.advisory else ""
    shown = items_table(f"{page_id}-items", "What is promised, and what was read", rows, note=note)
    return Page(page_id, title, (promise_verdict(measured), shown), mandatory=True)
