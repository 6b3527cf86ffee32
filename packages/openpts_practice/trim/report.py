"""The report of trims: rates and response times, what is beside trims, what trimmed LBAs read as."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

from msgspec import Struct, structs
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
    Pivot,
    Row,
    line_series,
    lines_over,
    percentile,
    pivot,
    response_times,
    rows_json,
    select,
    values_json,
)
from openpts.record.reader import Run
from openpts.units import (
    GIB,
    KIB,
    MIB,
    NS_PER_MS,
    format_block_size,
    format_capacity,
    format_duration,
    format_latency_ms,
)
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.trimmed_reads import PromiseKept, TrimLimits, TrimmedReads
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, page, page_of, table, values_of
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Figure, Page, Table, Verdict
from openpts_practice.trim import AFTER, BEFORE, BESIDE, TrimConditions
from openpts_practice.trim.results import FACTOR_LIMIT, PERCENTILES, RATE_LIMIT, STALL_NS, Concurrent, Effect
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, state_page

_SHOWN_PCTS: Final = (50.0, 99.0, 99.9)
_LEAST_NINES: Final = 3


class TrimReport(Struct, frozen=True):
    """What was measured, a method for each page; what was not measured is empty or None.

    ``points`` are steps that trim. ``beside`` has reads and writes by name. ``trims`` are those beside reads
    and writes: their stimulus, and what became of them.
    """

    run: Run
    conditions: TrimConditions
    points: list[Row[Figures]]
    beside: dict[str, Concurrent]
    trims: Row[Figures] | None
    trimmed: TrimmedReads | None

    @classmethod
    def of(cls, run: Run) -> "TrimReport":
        """The results, from the samples in the record."""
        loads = {
            number: [
                sample
                for sample in (step.sample for step in run.phase(Phase.LOAD, number=number))
                if len(sample.step.streams) > 1 and sample.state is StepState.COMPLETE
            ]
            for number in (BEFORE, BESIDE, AFTER)
        }
        trims = [
            (stream.stimulus, _of_operation(sample, "trim"))
            for sample in loads[BESIDE]
            for stream in sample.step.streams
            if stream.stimulus.operations.trim
        ]
        points = select(run.phase(Phase.SWEEP), lambda stimulus: bool(stimulus.operations.trim))
        return cls(
            run=run,
            conditions=run.conditions(TrimConditions),
            points=[(one, _of_operation(sample, "trim")) for one, sample in points if sample.trim.ios],
            beside={
                f"{name}s": Concurrent(*(_of_operation(samples[-1], name) for samples in loads.values()))
                for name in ("read", "write")
                if all(loads.values())
            },
            trims=trims[-1] if trims else None,
            trimmed=run.manifest.trimmed,
        )

    @property
    def by_size(self) -> Pivot[int, int, Figures]:
        """Points by size and number outstanding."""
        return pivot(self.points, size_of, toio_of)

    @property
    def limits(self) -> TrimLimits:
        """Limits of the device, as far as they are known."""
        return TrimLimits() if self.trimmed is None else self.trimmed.limits

    @property
    def trims_text(self) -> str:
        """What was beside reads and writes: ``trims of 32 MiB, 10.0/s``."""
        if self.trims is None:
            return "trims"
        stimulus, figures = self.trims
        return f"trims of {size_name(stimulus.block_size_bytes)}, {cells.fixed(figures.iops, 1)}/s"

    def pages(self) -> Iterator[Page]:
        """Trims by themselves, beside other I/O, what is read afterwards, and what was done before."""
        yield self.rates()
        yield self.loads()
        yield self.reads_afterwards()
        yield state_page(self.run, "Preparation")

    def rates(self) -> Page:
        """Trims per second and MB/s over size, a line for each queue depth, and their response times."""
        name = PlotName("trim-rates", "Plot X-TRIM-1", "Rate of Trims v Size")
        if not self.points:
            return page_of(name, absent="no trim was measured")
        rate = self._over_sizes(name, "per-s", replace(IOPS, unit="Trims/s"))
        speed_name = PlotName(name.id, "Plot X-TRIM-2", "Trimmed MB/s v Size")
        speed = self._over_sizes(speed_name, "speed", THROUGHPUT)
        prepared = Verdict(
            "Prepared: each LBA that a point trims was written just before in SEQ "
            f"{format_block_size(self.conditions.sequential_block_size_bytes)}, and is trimmed once. Each "
            "trim outstanding has a thread of its own."
        )
        return page(
            name, rate[0], speed[0], prepared, *self._limits(), rate[1], speed[1], self._times_table()
        )

    def _over_sizes(self, name: PlotName, part: str, metric: Metric[HasFigures]) -> tuple[Figure, Table]:
        by_size = self.by_size
        head: Col[int] = Col("Size", lambda size: Cell(size_name(size), size / KIB), width=0)
        shown = by_size.table(
            f"{name.id}-{part}",
            f"{name.title}, {metric.unit}",
            head,
            {f"QD {qd}": qd for qd in self.conditions.qds},
            replace(metric, absent="no room"),
        )
        # logarithmic, every size ticked by its name
        axis = ticks.block_size_axis([size / KIB for size in by_size.by_row])
        x = structs.replace(axis, title=head.label, labels=tuple(map(size_name, by_size.by_row)))
        return lines_over(shown, name, x, metric.unit, "sizes", logarithmic=True, part=part), shown

    def _limits(self) -> list[Verdict]:
        """Sizes that the kernel splits or the drive may leave alone, points that were not measured."""
        limits, by_size = self.limits, self.by_size
        most, granule = limits.most_bytes or 0, limits.granularity_bytes or 0
        split = [size for size in by_size.by_row if most and size > most]
        small = [size for size in by_size.by_row if size < granule]
        left_out = [
            f"{size_name(size)} QD {qd}"
            for size, qd in product(self.conditions.sizes_bytes, self.conditions.qds)
            if by_size.at(size, qd) is None
        ]
        texts = {
            f"The kernel splits trims of {_sizes(split)}: it sends at most {size_name(most)} in one "
            f"command ({limits.source}).": split,
            f"Trims of {_sizes(small)} are smaller than the unit in which this device trims, "
            f"{size_name(granule)}: it may leave their data as they are.": small,
            f"Not measured: {', '.join(left_out)}; the range has no room for them, or the run "
            "ended.": left_out,
        }
        return [Verdict(text) for text, concerned in texts.items() if concerned]

    def _times_table(self) -> Table:
        most = self.limits.most_bytes

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
            self.points,
        )

    def effect_verdict(self, name: str) -> Verdict:
        """What trims do to the reads or the writes, with the figures that decide it."""
        beside = self.beside.get(name)
        if beside is None:
            return Verdict(f"{name.capitalize()} beside trims: n/a (not measured).", "fail")
        what = f"{name.capitalize()} beside {self.trims_text}: {beside.effect.value}{_broken(beside)}"
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
            figures += f"; in the faster load {faster_ms} ms: the loads differ too much for a verdict"
        return Verdict(f"{what}. {figures}.", "fail" if beside.effect is Effect.STALLED else "info")

    def _loads_table(self) -> Table:
        rows = [
            (f"{what.capitalize()} {when} trims", figures)
            for what, one in self.beside.items()
            for when, figures in (("before", one.before), ("beside", one.beside), ("after", one.after))
        ]
        if self.trims is not None:
            rows.append(("Trims beside", self.trims[1]))
        head: Col[tuple[str, Figures]] = Col("Load", lambda row: Cell(row[0]), align="left", width=0)
        rate = replace(IOPS, label="Per second").column(_measured)
        columns = [rate, *_times_columns((*_SHOWN_PCTS, 99.99))]
        return table("trim-beside-loads", "Without trims and beside them", head, columns, rows)

    def loads(self) -> Page:
        """Reads and writes without trims and beside them: percentiles, factors and curves."""
        name = PlotName("trim-beside", "Plot X-TRIM-3", "Reads and Writes beside Trims")
        if not self.beside:
            return page_of(name, absent="the loads without trims and beside them were not all measured")
        curves = self._curves_table()
        rule = Verdict(
            "Rule, against the slower load without trims. Stalled: the judged percentile is "
            f"{FACTOR_LIMIT:g} times as long; or the longest takes more than {STALL_NS / NS_PER_MS:g} ms "
            f"and {FACTOR_LIMIT:g} times as long; or less than {100 * RATE_LIMIT:g} % of the rate is left. "
            "Clean: none of these holds against the faster load either. Else there is no verdict. I/Os come "
            "at fixed rates: response times count from the planned moment."
        )
        verdicts = [self.effect_verdict(what) for what in self.beside]
        return page(name, self._curves_figure(name, curves), *verdicts, rule, self._loads_table(), curves)

    def _curves_table(self) -> Table:
        """Percentiles up to the nines that any load has I/Os for, and the factors."""
        shown = [
            (f"{what.capitalize()} {when}", figures)
            for what, one in self.beside.items()
            for when, figures in (("alone", one.before), ("beside trims", one.beside))
        ]
        pcts = [pct for pct in PERCENTILES if any(one.percentile_ns(pct) is not None for _, one in shown)]
        columns: list[Col[float]] = [_curve(f"{label} (ms)", figures) for label, figures in shown]
        columns += [_factors(what, one) for what, one in self.beside.items()]
        head: Col[float] = Col("I/Os (%)", lambda pct: Cell(f"{pct:.10g}", pct), width=0)
        return table("trim-beside-percentiles", "Response times by share of the I/Os", head, columns, pcts)

    def _curves_figure(self, name: PlotName, shown: Table) -> Figure | None:
        if not values_of(shown):
            return None
        nines = max(nines_supported(one.beside.distribution.count) for one in self.beside.values())
        plot = Plot(
            x=ticks.nines_axis("Share of the I/Os", min(max(_LEAST_NINES, nines), 5)),
            y=lambda values: ticks.log_axis("Response time (ms)", values),
            series=line_series(shown)[: 2 * len(self.beside)],
            alt="{rows} shares of the I/Os, from {low} to {high} ms.",
            decimals=None,
            height_px=300,
        )
        return plot.over(name, shown)

    def promise_verdict(self) -> Verdict:
        """What trimmed LBAs read as, and whether that is what the drive promises."""
        trimmed = self.trimmed
        if trimmed is None:
            return Verdict("Reads of trimmed LBAs: n/a (not measured).", "fail")
        tones = {PromiseKept.NOT_AS_PROMISED: "fail", PromiseKept.AS_PROMISED: "pass"}
        tone = tones.get(trimmed.kept, "info")
        if not trimmed.sectors:
            return Verdict(f"Reads of trimmed LBAs: n/a ({trimmed.reason}).", tone)
        promised = f"promised: {trimmed.promise.value} ({trimmed.source})"
        text = f"Reads of trimmed LBAs: {trimmed.kept.value}. Seen: {trimmed.seen}; {promised}."
        return Verdict(text, tone)

    def reads_afterwards(self) -> Page:
        """The promise, the counts and the limits."""
        name = PlotName("trim-reads", "", "Reads of Trimmed LBAs")
        trimmed = self.trimmed
        if trimmed is None:
            return page_of(name, absent="no trimmed LBA was read")
        limits = trimmed.limits

        def size(size_bytes: int | None) -> str | Cell:
            return cells.missing("not reported") if size_bytes is None else f"{size_bytes:,} B"

        rows: list[tuple[str, str | Cell]] = [
            ("Promised", trimmed.promise.value),
            ("Source", trimmed.source),
            ("Verdict", trimmed.kept.value),
            ("Sectors written, read back, trimmed, read twice", f"{trimmed.sectors:,}"),
            ("Zeros", f"{trimmed.zeros:,}"),
            ("Ones", f"{trimmed.ones:,}"),
            ("Old data", f"{trimmed.old:,}"),
            ("Other data", f"{trimmed.other:,}"),
            ("Different in both reads", f"{trimmed.unstable:,}"),
            ("Largest trim in one command", size(limits.most_bytes)),
            ("Largest that the drive takes", size(limits.hardware_most_bytes)),
            ("Unit of trims", size(limits.granularity_bytes)),
            ("Source of these limits", limits.source or cells.missing("not reported")),
        ]
        ignored = "The interface lets a drive ignore a trim: old data breaks no promise."
        note = ignored if trimmed.advisory else ""
        shown = items_table(f"{name.id}-items", "What is promised, and what was read", rows, note=note)
        return page(name, self.promise_verdict(), shown)

    def measures(self) -> tuple[Measured, ...]:
        """Of each size with the fewest outstanding, and of reads and writes beside trims."""
        points, conditions = self.by_size, self.conditions
        qd = min(conditions.qds)
        of_points = [
            measure.of(points.at(size, qd), Subject(f"{size_name(size)} QD {qd}"))
            for size in sorted(conditions.sizes_bytes)
            for measure in _POINT
        ]
        of_loads = [
            measure.of(self.beside.get(name), Subject(name.capitalize()))
            for name in ("reads", "writes")
            for measure in _BESIDE
        ]
        return (*of_points, *of_loads)

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        random = format_block_size(conditions.random_block_size_bytes)
        sizes = ", ".join(size_name(size) for size in conditions.sizes_bytes)
        return stimulus_rows(
            self.run,
            ("Test Stimulus 1", f"SEQ trims of {sizes}"),
            ("TOIO - TC/QD", f"TC {', '.join(map(str, conditions.qds))} / QD 1"),
            ("Range", f"up to {format_capacity(conditions.range_bytes)}, written before"),
            ("Test Stimulus 2", f"RND {random} R and W, {self.trims_text} beside"),
            ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
            (
                "Load",
                f"R {conditions.read_load_pct:g} %, W {conditions.write_load_pct:g} % of the rates alone",
            ),
            ("Duration", f"{format_duration(conditions.minute_ns)} each"),
            ("Steady State", NO_STEADY_STATE),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        trimmed, trims = self.trimmed, self.trims
        return {
            "points": rows_json(self.points, _KEYS, (THROUGHPUT, *_TIMES)),
            "beside": {
                name: {
                    "effect": beside.effect.value,
                    "broken": list(beside.broken()),
                    "judged_pct": beside.judged_pct,
                    "factors": {f"{pct:.10g}": beside.factor(pct) for pct in PERCENTILES},
                    **{when: values_json(getattr(beside, when), _TIMES) for when in _WHEN},
                }
                for name, beside in self.beside.items()
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


def size_name(size_bytes: int) -> str:
    """A size of trims, which may be large: ``4 KiB``, ``2 GiB``."""
    for unit, unit_bytes in (("GiB", GIB), ("MiB", MIB)):
        if size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes} {unit}"
    return format_block_size(size_bytes)


def size_of(stimulus: Stimulus) -> int:
    """Size of the trims of a point."""
    return stimulus.block_size_bytes


def toio_of(stimulus: Stimulus) -> int:
    """Number of trims outstanding at a point."""
    return stimulus.toio


def _of_operation(sample: Sample, operation: str) -> Figures:
    return Figures.of([sample.operations[operation]], sample.elapsed_ns)


def _sizes(sizes_bytes: Sequence[int]) -> str:
    return ", ".join(map(size_name, sizes_bytes))


def _times_columns(pcts: Sequence[float]) -> list[Col[tuple[Any, Figures]]]:
    return [metric.column(_measured) for metric in response_times(pcts)]


def _measured(row: tuple[Any, Figures]) -> Figures:
    return row[1]


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


def _curve(label: str, figures: Figures) -> Col[float]:
    return Col(label, lambda pct: percentile(pct).cell(figures))


def _factors(what: str, beside: Concurrent) -> Col[float]:
    return Col(f"Factor, {what}", lambda pct: cells.number_or("below the I/Os needed", beside.factor(pct), 2))


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = TrimReport.of(run)
    return ReportContent(
        verdicts=(*(found.effect_verdict(name) for name in ("reads", "writes")), found.promise_verdict()),
        measures=found.measures(),
        sections=methodology(run, "Trims", found.test_rows(), found.pages),
        figures=found.figures,
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


_WHEN: Final = ("before", "beside", "after")
_KEYS: Final = {"size_bytes": size_of, "qd": toio_of}
_TIMES: Final[tuple[Metric[HasResponseTimes], ...]] = (
    IOS,
    replace(IOPS, key="per_s"),
    *response_times(PERCENTILES),
)
