"""The report of trims: rates and response times, what is beside trims, what trimmed LBAs read as."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from msgspec import structs
from msgspec.structs import replace

from openpts.analysis.latency import Figures, nines_percentile, nines_supported
from openpts.procedures.kit.content import OVER_NINES, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import (
    IOPS,
    IOS,
    MEAN,
    THROUGHPUT,
    HasFigures,
    HasResponseTimes,
    Metric,
    Row,
    line_series,
    lines_over,
    percentile,
    response_times,
    rows_json,
    values_json,
)
from openpts.record.reader import Run
from openpts.units import (
    KIB,
    NS_PER_MS,
    format_block_size,
    format_capacity,
    format_duration,
    format_latency_ms,
)
from openpts.vocabulary.trimmed_reads import PromiseKept
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, page, page_of, table, values_of
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Figure, Page, Table, Verdict
from openpts_practice.trim.results import (
    FACTOR_LIMIT,
    PERCENTILES,
    RATE_LIMIT,
    STALL_NS,
    Concurrent,
    Effect,
    TrimRun,
    size_name,
    size_of,
    toio_of,
    trim_run,
)
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, state_page

_SHOWN_PCTS: Final = (50.0, 99.0, 99.9)
_LEAST_NINES: Final = 3


def rates_page(found: TrimRun) -> Page:
    """Trims per second and MB/s over size, a line for each queue depth, and the response times of each."""
    name = PlotName("trim-rates", "Plot X-TRIM-1", "Rate of Trims v Size")
    if not found.points:
        return page_of(name, absent="no trim was measured")
    rate = _over_sizes(found, name, "per-s", replace(IOPS, unit="Trims/s"))
    speed_name = PlotName(name.id, "Plot X-TRIM-2", "Trimmed MB/s v Size")
    speed = _over_sizes(found, speed_name, "speed", THROUGHPUT)
    prepared = Verdict(
        "Prepared: each LBA that a point trims was written just before in SEQ "
        f"{format_block_size(found.asked.sequential_block_size_bytes)}, and is trimmed once. Each "
        "trim outstanding has a thread of its own."
    )
    return page(name, rate[0], speed[0], prepared, *_limits(found), rate[1], speed[1], _times_table(found))


def _over_sizes(
    found: TrimRun, name: PlotName, part: str, metric: Metric[HasFigures]
) -> tuple[Figure, Table]:
    by_size = found.by_size
    head: Col[int] = Col("Size", lambda size: Cell(size_name(size), size / KIB), width=0)
    shown = by_size.table(
        f"{name.id}-{part}",
        f"{name.title}, {metric.unit}",
        head,
        {f"QD {qd}": qd for qd in found.asked.qds},
        replace(metric, absent="no room"),
    )
    # logarithmic, every size ticked by its name
    axis = ticks.block_size_axis([size / KIB for size in by_size.by_row])
    x = structs.replace(axis, title=head.label, labels=tuple(map(size_name, by_size.by_row)))
    return lines_over(shown, name, x, metric.unit, "sizes", logarithmic=True, part=part), shown


def _limits(found: TrimRun) -> list[Verdict]:
    """Sizes that the kernel splits, sizes that the drive may leave alone, points that were not measured."""
    limits, by_size = found.limits, found.by_size
    most, granule = limits.most_bytes or 0, limits.granularity_bytes or 0
    split = [size for size in by_size.by_row if most and size > most]
    small = [size for size in by_size.by_row if size < granule]
    left_out = [
        f"{size_name(size)} QD {qd}"
        for size, qd in product(found.asked.sizes_bytes, found.asked.qds)
        if by_size.at(size, qd) is None
    ]
    texts = {
        f"The kernel splits trims of {_sizes(split)}: it sends at most {size_name(most)} in one "
        f"command ({limits.source}).": split,
        f"Trims of {_sizes(small)} are smaller than the unit in which this device trims, "
        f"{size_name(granule)}: it may leave their data as they are.": small,
        f"Not measured: {', '.join(left_out)}; the range has no room for them, or the run ended.": left_out,
    }
    return [Verdict(text) for text, concerned in texts.items() if concerned]


def _sizes(sizes_bytes: Sequence[int]) -> str:
    return ", ".join(map(size_name, sizes_bytes))


def _times_columns(pcts: Sequence[float]) -> list[Col[tuple[Any, Figures]]]:
    return [metric.column(_measured) for metric in response_times(pcts)]


def _measured(row: tuple[Any, Figures]) -> Figures:
    return row[1]


def _times_table(found: TrimRun) -> Table:
    most = found.limits.most_bytes

    def commands(row: Row[Figures]) -> Cell:
        return cells.count(-(-size_of(row[0]) // most)) if most else cells.missing("not known")

    def point(row: Row[Figures]) -> Cell:
        return Cell(f"{size_name(size_of(row[0]))}, {toio_of(row[0])}")

    trims, per_trim = replace(IOS, label="Trims").column(_measured), Col("Commands per trim", commands)
    return table(
        "trim-rates-times",
        "Response times of trims",
        Col("Size, QD", point, align="left", width=0),
        [trims, *_times_columns(_SHOWN_PCTS), per_trim],
        found.points,
    )


def effect_verdict(found: TrimRun, name: str) -> Verdict:
    """What trims do to the reads or the writes, with the figures that decide it."""
    beside = found.beside.get(name)
    if beside is None:
        return Verdict(f"{name.capitalize()} beside trims: n/a (not measured).", "fail")
    what = f"{name.capitalize()} beside {found.trims_text}: {beside.effect.value}{_broken(beside)}"
    pct = beside.judged_pct
    if pct is None:
        return Verdict(f"{what}; too few I/Os for a percentile.", "info")
    factor = beside.factor(pct)
    figures = (
        f"{pct:.10g} % within {_ms(beside.beside.percentile_ns(pct))} ms, without trims "
        f"{_ms(beside.slowest_alone_ns(pct))} ms"
        f"{'' if factor is None else f' (factor {cells.fixed(factor, 2)}, limit {FACTOR_LIMIT:g})'}; "
        f"longest {_ms(beside.beside.max_latency_ns)} ms, without trims {_ms(beside.longest_alone_ns)} ms"
    )
    if beside.effect is Effect.UNDECIDED:
        faster_ms = _ms(beside.slowest_alone_ns(pct, min))
        figures += f"; in the faster load {faster_ms} ms: the loads differ too much to tell"
    return Verdict(f"{what}. {figures}.", "fail" if beside.effect is Effect.STALLED else "info")


def _broken(beside: Concurrent) -> str:
    words = {
        "percentile": "response times",
        "longest": f"a stall of {_ms(beside.beside.max_latency_ns)} ms",
        "rate": f"{cells.fixed(100 * (beside.rate_share or 0), 1)} % of the rate",
    }
    parts = [words[part] for part in beside.broken()]
    return f" ({', '.join(parts)})" if parts else ""


def _ms(time_ns: float | None) -> str:
    return "n/a" if time_ns is None else format_latency_ms(time_ns)


def beside_page(found: TrimRun) -> Page:
    """Reads and writes without trims and beside them: percentiles, factors and curves."""
    name = PlotName("trim-beside", "Plot X-TRIM-3", "Reads and Writes beside Trims")
    if not found.beside:
        return page_of(name, absent="the loads without trims and beside them were not all measured")
    curves = _curves_table(found)
    rule = Verdict(
        f"Rule: stalled if the judged percentile is {FACTOR_LIMIT:g} times that of the slower load without "
        f"trims, or the longest takes more than {STALL_NS / NS_PER_MS:g} ms and {FACTOR_LIMIT:g} times as "
        f"long, or less than {100 * RATE_LIMIT:g} % of the rate is left; clean if that does not "
        "hold against the faster load either; else no verdict. I/Os come at fixed "
        "rates: response times count from the planned moment."
    )
    verdicts = [effect_verdict(found, what) for what in found.beside]
    return page(name, _curves_figure(found, name, curves), *verdicts, rule, _loads_table(found), curves)


def _loads_table(found: TrimRun) -> Table:
    rows = [
        (f"{what.capitalize()} {when} trims", figures)
        for what, one in found.beside.items()
        for when, figures in (("before", one.before), ("beside", one.beside), ("after", one.after))
    ]
    if found.trims is not None:
        rows.append(("Trims beside", found.trims[1]))
    head: Col[tuple[str, Figures]] = Col("Load", lambda row: Cell(row[0]), align="left", width=0)
    rate = replace(IOPS, label="Per second").column(_measured)
    columns = [rate, *_times_columns((*_SHOWN_PCTS, 99.99))]
    return table("trim-beside-loads", "Without trims and beside them", head, columns, rows)


def _curves_table(found: TrimRun) -> Table:
    """Percentiles up to the nines that any load has I/Os for, and the factors."""
    shown = [
        (f"{what.capitalize()} {when}", figures)
        for what, one in found.beside.items()
        for when, figures in (("alone", one.before), ("beside trims", one.beside))
    ]
    pcts = [pct for pct in PERCENTILES if any(one.percentile_ns(pct) is not None for _, one in shown)]
    columns: list[Col[float]] = [_curve(f"{label} (ms)", figures) for label, figures in shown]
    columns += [_factors(what, one) for what, one in found.beside.items()]
    head: Col[float] = Col("I/Os (%)", lambda pct: Cell(f"{pct:.10g}", pct), width=0)
    return table("trim-beside-percentiles", "Response times by share of the I/Os", head, columns, pcts)


def _curve(label: str, figures: Figures) -> Col[float]:
    return Col(label, lambda pct: percentile(pct).cell(figures))


def _factors(what: str, beside: Concurrent) -> Col[float]:
    return Col(f"Factor, {what}", lambda pct: cells.number_or("below the I/Os needed", beside.factor(pct), 2))


def _curves_figure(found: TrimRun, name: PlotName, shown: Table) -> Figure | None:
    if not values_of(shown):
        return None
    nines = max(nines_supported(one.beside.distribution.count) for one in found.beside.values())
    plot = Plot(
        x=ticks.nines_axis("Share of the I/Os", min(max(_LEAST_NINES, nines), 5)),
        y=lambda values: ticks.log_axis("Response time (ms)", values),
        series=line_series(shown)[: 2 * len(found.beside)],
        alt="{rows} shares of the I/Os, from {low} to {high} ms.",
        decimals=None,
        height_px=300,
    )
    return plot.over(name, shown)


def promise_verdict(run: TrimRun) -> Verdict:
    """What trimmed LBAs read as, and whether that is what the drive promises."""
    found = run.trimmed
    if found is None:
        return Verdict("Reads of trimmed LBAs: n/a (not measured).", "fail")
    tone = {PromiseKept.NOT_AS_PROMISED: "fail", PromiseKept.AS_PROMISED: "pass"}.get(found.kept, "info")
    if not found.sectors:
        return Verdict(f"Reads of trimmed LBAs: n/a ({found.reason}).", tone)
    promised = f"promised: {found.promise.value} ({found.source})"
    return Verdict(f"Reads of trimmed LBAs: {found.kept.value}. Seen: {found.seen}; {promised}.", tone)


def trimmed_page(run: TrimRun) -> Page:
    """The promise, the counts and the limits."""
    name = PlotName("trim-reads", "", "Reads of Trimmed LBAs")
    found = run.trimmed
    if found is None:
        return page_of(name, absent="no trimmed LBA was read")
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
    shown = items_table(f"{name.id}-items", "What is promised, and what was read", rows, note=note)
    return page(name, promise_verdict(run), shown)


_TITLE: Final = "Trims"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = trim_run(run)
    return ReportContent(
        verdicts=(*(effect_verdict(found, name) for name in ("reads", "writes")), promise_verdict(found)),
        measures=_measures(found),
        sections=methodology(
            run,
            _TITLE,
            _test_rows(found),
            lambda: (
                rates_page(found),
                beside_page(found),
                trimmed_page(found),
                state_page(run, "Preparation"),
            ),
        ),
        figures=lambda: _figures(found),
        curves=lambda: tuple(_rate_curve(name, beside) for name, beside in found.beside.items()),
    )


def _rate_curve(name: str, beside: Concurrent) -> Curve:
    times = beside.beside
    found = [(pct, times.percentile_ns(pct)) for pct in PERCENTILES]
    return Curve(
        f"{name}-beside-trims",
        f"{name.capitalize()} beside Trims: Response Time v Share of the I/Os",
        "response time in ms that a share of the I/Os does not exceed",
        OVER_NINES,
        lambda values: ticks.log_axis("Response time (ms)", values),
        tuple((pct, found_ns / NS_PER_MS) for pct, found_ns in found if found_ns is not None),
        lambda found_ms: cells.latency(found_ms * NS_PER_MS),
    )


_POINT: Final = (
    replace(IOPS, unit="trims/s").measure("per_s", "Trims of {name}", better=Better.HIGHER),
    MEAN.measure("mean", "Trims of {name}, mean response time", decimals=3, on_cover=False),
)
_BESIDE: Final[tuple[Measure[Concurrent], ...]] = (
    Measure(
        "beside_trims_p99_9",
        "{name} beside trims, 99.9 %",
        "ms",
        lambda beside: beside.beside.percentile_ns(nines_percentile(3)),
        per=NS_PER_MS,
        decimals=3,
        absent="below 1,000 I/Os",
    ),
    Measure(
        "longest_beside_trims",
        "{name} beside trims, longest",
        "ms",
        lambda beside: beside.beside.max_latency_ns,
        per=NS_PER_MS,
        decimals=3,
    ),
    Measure(
        "factor_of_trims",
        "{name}, 99.9 % beside trims over alone",
        "x",
        lambda beside: beside.factor(nines_percentile(3)),
        decimals=2,
        absent="below 1,000 I/Os",
    ),
)


def _measures(found: TrimRun) -> tuple[Measured, ...]:
    """Of each size with the fewest outstanding, and of reads and writes beside trims."""
    points, asked = found.by_size, found.asked
    qd = min(asked.qds)
    of_points = [
        measure.of(points.at(size, qd), Subject(f"{size_name(size)} QD {qd}"))
        for size in sorted(asked.sizes_bytes)
        for measure in _POINT
    ]
    of_loads = [
        measure.of(found.beside.get(name), Subject(name.capitalize()))
        for name in ("reads", "writes")
        for measure in _BESIDE
    ]
    return (*of_points, *of_loads)


def _test_rows(found: TrimRun) -> Rows:
    asked = found.asked
    random = format_block_size(asked.random_block_size_bytes)
    sizes = ", ".join(size_name(size) for size in asked.sizes_bytes)
    return stimulus_rows(
        found.run,
        ("Test Stimulus 1", f"SEQ trims of {sizes}"),
        ("TOIO - TC/QD", f"TC {', '.join(map(str, asked.qds))} / QD 1"),
        ("Range", f"up to {format_capacity(asked.range_bytes)}, written before"),
        ("Test Stimulus 2", f"RND {random} R and W, {found.trims_text} beside"),
        ("TOIO - TC/QD", demand_text(asked.tc, asked.qd)),
        ("Load", f"R {asked.read_load_pct:g} %, W {asked.write_load_pct:g} % of the rates alone"),
        ("Duration", f"{format_duration(asked.minute_ns)} each"),
        ("Steady State", NO_STEADY_STATE),
    )


_KEYS: Final = {"size_bytes": size_of, "qd": toio_of}
_TIMES: Final[tuple[Metric[HasResponseTimes], ...]] = (
    IOS,
    replace(IOPS, key="per_s"),
    *response_times(PERCENTILES),
)


def _figures(found: TrimRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    trimmed, trims = found.trimmed, found.trims
    return {
        "points": rows_json(found.points, _KEYS, (THROUGHPUT, *_TIMES)),
        "beside": {
            name: {
                "effect": beside.effect.value,
                "broken": list(beside.broken()),
                "judged_pct": beside.judged_pct,
                "factors": {f"{pct:.10g}": beside.factor(pct) for pct in PERCENTILES},
                **{
                    when: values_json(getattr(beside, when), _TIMES) for when in ("before", "beside", "after")
                },
            }
            for name, beside in found.beside.items()
        },
        "trims_beside": trims and {"size_bytes": size_of(trims[0]), **values_json(trims[1], _TIMES)},
        "trimmed_reads": trimmed
        and {
            "promise": trimmed.promise.value,
            "source": trimmed.source,
            "seen": trimmed.seen,
            "kept": trimmed.kept.value,
            "sectors": trimmed.sectors,
        },
    }
