"""The report of the host idle recovery test: its header fields, its pages, its order (PTS 11.3)."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.run_comparison import gain_pct
from openpts.analysis.uncertainty import of_rates, of_ratio
from openpts.procedures.kit import header, steps
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, IOPS, MRT
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_duration, in_ms
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, kit, ticks
from openpts_pages.kit import Col, Plot, PlotName, Required, page, rows_table, values_of
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Band, Cell, Column, Figure, Page, PlotRule, Series, Table, Verdict
from openpts_pts.hir import IdleRecoveryConditions
from openpts_pts.hir.results import (
    Access,
    IdleRecoveryResults,
    SegmentSummary,
    WaitSegment,
    analyze_idle_recovery,
)
from openpts_pts.shared.minutes_table import list_minutes, with_transfer_size
from openpts_pts.shared.preparation_page import preparation_page
from openpts_pts.shared.tracking import ROUND_WORD, TrackedPhase
from openpts_work.energy_page import power_cell
from openpts_work.work import DriveWork

_TIME: Final = Required("1", "Plot 11-1")
_WINDOW: Final = Required("2", "Plot 11-2")
_ALL: Final = Required("3", "Plot 11-3")
REQUIRED: Final = (_TIME, _WINDOW, _ALL)

_KEY_WAIT_STATE: Final = 10
_ACCESS_COLOR, _RETURN_COLOR, _BAR_COLOR = 2, 0, 6
_IOPS: Final = replace(IOPS, decimals=0)
_SECONDARY: Final[tuple[Col[tuple[SegmentSummary, Cell]], ...]] = (
    *(metric.column(itemgetter(0)) for metric in (_IOPS, ART, MRT)),
    Col("Avg Power (mW)", itemgetter(1)),
    *(metric.column(itemgetter(0)) for metric in (CPU_SYS, CPU_IOWAIT)),
)
_BASELINE: Final = IOPS.measure(
    "baseline_iops",
    "Baseline",
    decimals=0,
    explanation="random writes without pauses",
    uncertainty=lambda baseline: IOPS.uncertainty(baseline.minutes),
)
_GAIN: Final = Measure[Cell](
    "gain",
    "Gain of WS {name} over the baseline",
    "%",
    lambda gain: gain,
    better=Better.HIGHER,
    explanation="faster after a pause",
)


class IdleRecoveryReport(Struct, frozen=True):
    """What a run found, and its pages."""

    run: Run
    conditions: IdleRecoveryConditions
    tracked: TrackedPhase
    results: IdleRecoveryResults

    @property
    def steady(self) -> str:
        """The cover's field Steady State."""
        return self.tracked.results.state(ROUND_WORD)

    @property
    def gains(self) -> str:
        """What each wait state gains, in a sentence."""
        if self.results.baseline is None:
            return "No baseline: steady state was not reached."
        gains = ", ".join(
            f"{segment.name} {cells.signed(gain, 1)} %"
            for segment in self.results.segments
            if (gain := self.gain_pct(segment.iops)) is not None
        )
        return f"IOPS against the baseline of {cells.fixed(self.results.baseline.iops, 0)}: {gains}."

    @property
    def rules(self) -> tuple[PlotRule, ...]:
        """The baseline as a line, if there is one."""
        baseline = self.results.baseline
        return (PlotRule("Baseline", baseline.iops, "average"),) if baseline else ()

    @property
    def highest_iops(self) -> float:
        """The fastest access: where the axes of all plots over accesses end."""
        every = (one for segment in self.results.segments for one in (*segment.active, *segment.returned))
        return max((one.sample.iops for one in every), default=1.0)

    def gain_pct(self, iops: float | None) -> float | None:
        """IOPS above the baseline, in per cent of it; None without either."""
        baseline = self.results.baseline
        return None if baseline is None or iops is None else gain_pct(baseline.iops, iops)

    def measures(self) -> Iterator[Measured]:
        """Baseline and gains; that of the longest wait state is the key value, also where it is missing."""
        yield _BASELINE.of(self.results.baseline, Subject(steady=self.steady))
        segments = {segment.state.number: segment for segment in self.results.segments}
        for number in sorted({*segments, _KEY_WAIT_STATE}):
            segment = segments.get(number)
            gain = None if segment is None else self.gain_pct(segment.iops)
            cell = cells.percent_or("not reached", gain, plus=True)
            yield replace(
                _GAIN.of(cell, Subject(str(number), f"ws{number}", steady=self.steady)),
                is_key=number == _KEY_WAIT_STATE,
                on_cover=segment is not None,
                uncertainty=None if segment is None else self.gain_uncertainty(segment),
            )

    def gain_uncertainty(self, segment: WaitSegment) -> Uncertainty | None:
        """In points of per cent, as the gain is."""
        baseline = self.results.baseline
        if baseline is None or segment.iops is None:
            return None
        bursts = (one.sample for one in segment.active)
        rates = of_rates((one.started_ns, one.elapsed_ns, one.iops) for one in bursts)
        minutes = IOPS.uncertainty(baseline.minutes)
        return of_ratio(("wait state", segment.iops, rates), ("baseline", baseline.iops, minutes), unit=100)

    def pages(self) -> Iterator[Page]:
        """In the order of 11.3, then what may be added."""
        conditions, segments = self.conditions, self.results.segments
        record = (
            f"ActiveRange = {header.active_range_text(conditions)}; OIO/Thread = {conditions.qd}; "
            f"Thread Count = {conditions.tc}; Data Pattern = {header.data_text(conditions)} [11.2]."
        )
        yield preparation_page(self.run, "hir-preparation", "HIR Purge Report")
        yield self.tracked.over_time(_TIME.named("hir", "HIR IOPS v Time - Pre-conditioning"))
        window = _WINDOW.named("hir", "HIR Pre-conditioning Steady State Measurement Plot")
        yield self.tracked.window(window, record)
        yield self.all_wait_states()
        yield from map(self.wait_state, segments)
        yield self.secondary()
        if segments:
            yield self.gain()
            yield self.cycles()

    def all_wait_states(self) -> Page:
        """IOPS of each access over time, wait states shaded, with the baseline (Plot 11-3)."""
        name, segments = _ALL.named("hir", "IOPS v Time for All Wait States"), self.results.segments
        if not segments:
            text = "No wait state was run: the test ends if its preconditioning is not steady (PTS 11.2)."
            return page(name, Verdict(text, "fail"))
        time = ticks.time_axis("Time", 0, segments[-1].ended_ns)
        shown = _accesses_table(f"{name.id}-values", segments, time)
        bands = tuple(
            Band(
                "x",
                time.place(segment.began_ns),
                time.place(segment.ended_ns),
                "allowed" if number % 2 else "window",
                f"{segment.name}: {segment.idle}",
            )
            for number, segment in enumerate(segments)
        )
        alt = f"{self.gains} {len(shown.rows):,} accesses."
        plot = replace(self.accesses(time, alt), bands=bands, height_px=420)
        return page(name, plot.over(name, shown), Verdict(self.gains), shown)

    def wait_state(self, segment: WaitSegment) -> Page:
        """One wait state and its return to baseline, access by access (11.3.2)."""
        number, summary = segment.state.number, segment.active_summary
        title = f"HIR IOPS v Time - Wait State {number} ({segment.idle} idle) and Return to Baseline"
        name = PlotName(f"hir-ws{number}", f"Plot X-HIR-WS{number}", title)
        time = ticks.time_axis("Time", segment.began_ns, segment.ended_ns)
        shown = _accesses_table(f"{name.id}-values", (segment,), time)
        alt = f"{len(segment.active)} accesses with pauses, {len(segment.returned)} without."
        edges = None
        if summary is not None and summary.largest_off_error_ns is not None:
            edges = Verdict(
                f"{summary.accesses} bursts. Pauses of {segment.idle}: largest error "
                f"{cells.fixed(summary.largest_off_error_ns / NS_PER_MS, 3)} ms; bursts until the drive's "
                f"last answer: at most {cells.fixed(summary.longest_on_excess_ns / NS_PER_MS, 3)} ms longer "
                "than planned."
            )
        return page(name, self.accesses(time, alt).over(name, shown), edges, shown)

    def accesses(self, time: ticks.TimeAxis, alt: str) -> Plot:
        """The plot of a table of accesses."""
        return Plot(
            x=time.axis,
            y=ticks.linear_axis("IOPS", 0, self.highest_iops),
            series=(
                Series("Access A (with pauses)", "column", (0,), _ACCESS_COLOR, style="points"),
                Series("Access C (return to baseline)", "column", (1,), _RETURN_COLOR, style="points"),
            ),
            alt=alt,
            rules=self.rules,
        )

    def secondary(self) -> Page:
        """IOPS, response times, power and processor use of the baseline and each wait state (Plot 11-5)."""
        run, conditions, segments = self.run, self.conditions, self.results.segments
        work, window = DriveWork(run), set(map(id, self.tracked.results.window_minutes))
        minutes = [step for step in run.phase(Phase.WDPC) if id(step.sample) in window]
        states = (
            (one.name, one.active_summary, run.phase(Phase.WAIT_STATE, number=one.state.number))
            for one in segments
        )
        parts = (("Baseline", self.results.baseline, minutes), *states)
        head: Col[str] = Col("", cells.words, align="left", width=1.2)
        shown = steps.transpose(
            "hir-4-values",
            "HIR Secondary Metrics",
            _SECONDARY,
            ((name, None if of is None else (of, power_cell(work, found))) for name, of, found in parts),
            head=head,
            absent="not reached",
            note="IOPS of a wait state count its active time only; its power is that of its pauses as well.",
        )
        demand = f"T{conditions.tc}/Q{conditions.qd}"
        line = header.head_line(run, Phase.WDPC, demand=demand, more=conditions.workload.title)
        return page(PlotName("hir-4", "", "HIR Secondary Metrics"), Verdict(line), shown)

    def gain(self) -> Page:
        """How much each wait state gains over the baseline, and how exact its pauses were."""
        name, segments = PlotName("hir-x1", "Plot X-HIR-1", "HIR Gain by Wait State"), self.results.segments
        shown = rows_table(
            "hir-x1-values",
            "IOPS of each wait state beside the baseline and its return to baseline",
            "Wait state:<0.8 | Idle (s) | IOPS | 5th percentile | 95th percentile | Gain v baseline (%) | "
            "at the 5th (%) | at the 95th (%) | Return: IOPS",
            map(self._gain_row, segments),
            note="Percentiles are those of the accesses' IOPS.",
        )
        pauses = rows_table(
            "hir-x1-pauses",
            "How exact the pauses and the accesses were",
            "Wait state:<0.8 | Pause, mean error (ms) | Pause, largest error (ms) | "
            "Access, longest excess (ms)",
            (
                (_head(one), *(cells.number_or("no pause", ns, 3, per=NS_PER_MS) for ns in one.edges_ns))
                for one in segments
            ),
            note="Excess of an access: the time in which the drive completed the I/Os outstanding at its "
            "end.",
        )
        plot = Plot(
            kind="bars",
            x=kit.labels_axis("Idle time after each access", [one.idle for one in segments]),
            y=lambda gains: ticks.linear_axis("Gain v baseline (%)", min(0.0, *gains), max(0.0, *gains)),
            series=(
                Series("Mean", "column", (4,), _BAR_COLOR, style="bars"),
                Series("5th to 95th percentile", "column", (5, 6), _RETURN_COLOR, style="range"),
            ),
            alt=self.gains,
            rules=(PlotRule("Baseline", 0, "average"),),
            height_px=300,
        )
        known = any(values_of(shown, column) for column in (4, 5, 6))
        figure = plot.over(name, shown) if known else None
        return page(name, figure, Verdict(self.gains), shown, pauses, mandatory=False)

    def _gain_row(self, segment: WaitSegment) -> kit.Cells:
        active, returned = segment.active_summary, segment.returned_summary
        found = (active.iops, active.low_iops, active.high_iops) if active else (None, None, None)
        few = "too few accesses"
        gains = (
            cells.percent_or(few if iops is None else "no baseline", self.gain_pct(iops), plus=True)
            for iops in found
        )
        return (
            _head(segment),
            Cell(f"{segment.idle_s:g}", segment.idle_s),
            *(cells.number_or(few, iops, 0) for iops in found),
            *gains,
            cells.number_or(few, returned.iops if returned else None, 0),
        )

    def cycles(self) -> Page:
        """The accesses of each wait state in a plot of its own, all on the same axes."""
        title, segments = "HIR Accesses of Each Wait State", self.results.segments
        shown = kit.grid(
            "hir-x2-values",
            "Values plotted: IOPS of each access",
            Col("Cycle", lambda number: Cell(str(number), float(number)), width=0),
            [(Column(segment.name), segment.active) for segment in segments],
            range(1, max((len(segment.active) for segment in segments), default=0) + 1),
            cell=lambda number, active: (
                cells.number(active[number - 1].sample.iops, 0) if number <= len(active) else cells.none()
            ),
            printed=False,
        )
        y = ticks.linear_axis("IOPS", 0, self.highest_iops)
        figures = (
            Figure(
                id=f"hir-x2-ws{segment.state.number}-plot",
                number=f"Plot X-HIR-2{letter}",
                title=f"Wait State {segment.state.number}: {segment.idle} idle",
                kind="lines",
                table_id=shown.id,
                x=ticks.span_axis("Cycle", 1, max(2, len(shown.rows))),
                y=replace(y, ticks=y.ticks[::2]),  # the plots are low
                alt=f"{title}, {segment.idle} idle: IOPS of {len(segment.active)} accesses.",
                series=(Series("Access", "column", (n,), _ACCESS_COLOR, style="points"),),
                rules=self.rules,
                height_px=105,
                zoom_group="hir-cycles",
            )
            for n, (segment, letter) in enumerate(zip(segments, "abcdefgh", strict=False))
        )
        return page(PlotName("hir-x2", "", title), *figures, shown, mandatory=False)

    def figures(self) -> dict[str, Any]:
        """Baseline and wait states, JSON-ready."""
        tracked = self.tracked.results
        return {
            "steady_state": {
                "reached": tracked.steady,
                "window": list(tracked.window.rounds),
                "tracked_iops": list(tracked.iops),
                "other_minutes": self.tracked.others and self.tracked.others.figures,
            },
            "baseline": _summary_json(self.results.baseline),
            "wait_states": [
                {
                    "number": segment.state.number,
                    "idle_s": segment.idle_s,
                    **(_summary_json(segment.active_summary) or {}),
                    "gain_pct": self.gain_pct(segment.iops),
                    "largest_pause_error_ms": in_ms(segment.edges_ns[1]),
                    "return_to_baseline": _summary_json(segment.returned_summary),
                }
                for segment in self.results.segments
            ],
        }


def _head(segment: WaitSegment) -> Cell:
    return Cell(segment.name, segment.idle_s)


def _summary_json(summary: SegmentSummary | None) -> dict[str, Any] | None:
    return None if summary is None else steps.values_json(summary, (IOPS, ART, MRT))


def _accesses_table(table_id: str, segments: Sequence[WaitSegment], time: ticks.TimeAxis) -> Table:
    """Each access with whether it is one of the return to baseline."""
    accesses: list[tuple[Access, bool]] = []
    for segment in segments:
        accesses += [(access, False) for access in segment.active]
        accesses += [(access, True) for access in segment.returned]
    columns: list[Col[tuple[Access, bool]]] = [
        Col("IOPS, with pauses", lambda one: Cell("") if one[1] else _IOPS.cell(one[0].sample)),
        Col("IOPS, return to baseline", lambda one: _IOPS.cell(one[0].sample) if one[1] else Cell("")),
        Col(ART.label, lambda one: ART.cell(one[0].sample)),
        Col(MRT.label, lambda one: MRT.cell(one[0].sample)),
    ]
    title = "Values plotted: each access at its end"
    return list_minutes(table_id, title, columns, accesses, time=time, end_ns=lambda one: one[0].ended_ns)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(IdleRecoveryConditions)
    tracked = TrackedPhase.of(run)
    results = analyze_idle_recovery(
        conditions,
        tracked.results.window_minutes if tracked.results.steady else (),
        lambda phase, number: [step.sample for step in run.phase(phase, number=number)],
        run.manifest.target.scale,
    )
    found, between = IdleRecoveryReport(run, conditions, tracked, results), tracked.between
    title, demand = conditions.workload.title, header.demand_text(conditions.tc, conditions.qd)
    waits = ", ".join(f"{state.idle_ns / NS_PER_S:g}" for state in conditions.wait_states)
    access, length_ns = f"{conditions.access_ns / NS_PER_S:g} s", sum(s.elapsed_ns for s in tracked.samples)
    return ReportContent(
        verdicts=(tracked.sentence, *between),
        measures=tuple(found.measures()),
        sections=header.sections_of(
            run,
            header.TestSection(
                test="hir",
                title="HIR Test",
                bar="Host Idle Recovery Test (REQUIRED) - Report Page",
                heading=f"HIR - {title}",
                setup=header.setup_rows(
                    run,
                    (f"{title} until steady", demand, format_duration(length_ns)),
                    ("none", "-", tracked.results.steady_rounds),
                ),
                test_rows=header.stimulus_rows(
                    run,
                    ("Test Stimulus 1", f"{access} access, then idle {waits} s, x {conditions.cycles}"),
                    ("RW Mix", "0/100"),
                    ("Block Sizes", title.split(" RW")[0]),
                    ("TOIO - TC/QD", demand),
                    ("Steady State", tracked.results.steady_rounds),
                    ("Test Stimulus 2", f"Return to baseline: {access} x {conditions.cycles}"),
                    ("TOIO - TC/QD", demand),
                    ("Steady State", "-"),
                ),
                red_lines=()
                if tracked.results.steady
                else ("STEADY STATE NOT REACHED - no wait states were run",),
                pages=lambda: with_transfer_size(
                    found.pages(), (size.block_size_bytes for size in conditions.workload.block_sizes)
                ),
            ),
        ),
        figures=found.figures,
        conditions=lambda: between,
    )
