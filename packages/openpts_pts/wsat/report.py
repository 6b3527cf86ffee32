"""The report of write saturation: one section for each workload (PTS 10.3)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution, ResponseTimes, nines_percentile
from openpts.analysis.minutes import MeasuredInterval, pieces_of, starts_ns
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.analysis.uncertainty import (
    STATE,
    Block,
    blocks_of,
    of_mean,
    of_percentile,
    of_rates,
    of_ratio,
    of_rounds,
    rectangular,
    scaled,
    since,
    with_components,
)
from openpts.procedures.kit.content import Curve, ReportContent, iops_curve
from openpts.procedures.kit.header import (
    Rows,
    TestSection,
    data_text,
    of_cycle,
    sections_of,
    setup_rows,
    stimulus_rows,
)
from openpts.procedures.kit.steps import ART, IOPS, Metric
from openpts.record.reader import Run
from openpts.units import KIB, NS_PER_MS, NS_PER_S, block_size_kib, format_duration
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.workload import Workload, simple_workload
from openpts_pages import cells
from openpts_pages.kit import PlotName, Required
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Cell, Page, Verdict
from openpts_pts.shared.confidence_page import Applied, confidence_page, percentile_cell, times_figures
from openpts_pts.shared.minutes_table import with_transfer_size
from openpts_pts.shared.rounds.results import one_pass_of
from openpts_pts.shared.saturation import (
    SaturationResults,
    SaturationZones,
    analyze_saturation,
    is_whole_minute,
    steady_round_of,
    tracked_steps,
    whole_pieces,
)
from openpts_pts.shared.steady_state_pages import Window, window_page
from openpts_pts.shared.tracking.pages import other_minutes, other_minutes_figures, other_minutes_verdicts
from openpts_pts.wsat import WriteSaturationConditions
from openpts_pts.wsat.pages import (
    MinuteAxis,
    SaturationCurve,
    along_fills,
    along_tgbw,
    along_time,
    bandwidth_page,
    consistency_pages,
    end_sentence,
    iops_page,
    response_times_page,
    stimulus_page,
    zones_page,
)

PREFIX: Final = "wsat"


class SaturationCycle:
    """One workload of the run: its results, and how its stimulus ended."""

    def __init__(self, run: Run, conditions: WriteSaturationConditions, number: int) -> None:
        finished = of_cycle(run.manifest.cycles, number)
        self.is_from_fob = conditions.within_pct is None
        self.pass_steps = run.phase(Phase.CONDITIONING, cycle=number)
        # by what share the drive's state may be off in the short form; None at full length
        self.state = (
            None if self.is_from_fob else one_pass_of(self.pass_steps, conditions.known_flash).state_off
        )
        if self.state is not None:
            conditions = conditions.after_the_pass
        steps = run.phase(Phase.SATURATION, cycle=number)
        tracked = tracked_steps(
            ((step.place.number, step.sample) for step in steps),
            conditions.minute_ns,
            conditions.tracking_period_ns,
        )
        histogram = [step.sample for step in run.phase(Phase.HISTOGRAM, cycle=number)]
        self.run, self.conditions, self.number = run, conditions, number
        self.steps = tracked
        self.workload = conditions.workloads[number - 1]
        self.results: SaturationResults = analyze_saturation(
            tracked,
            histogram,
            conditions.minute_ns,
            finished.outcome.steady_round
            if finished
            else steady_round_of(tracked, conditions.minute_ns, self._written_before_steady_state),
        )
        samples = [step.sample for step in tracked]
        starts = zip(starts_ns(samples), tracked, strict=True)
        if not self.is_from_fob:
            self.results = replace(self.results, zones=None)
        self.others = other_minutes(
            samples,
            self.results.verdict,
            list({step.number: start_ns for start_ns, step in starts if step.tracked}.values()),
            minute_ns=conditions.minute_ns,
            period_ns=conditions.tracking_period_ns,
        )
        self.ended_by = finished.outcome.ended_by if finished else ""
        # The stimulus came to its end where its histogram began, also if that was never finished.
        if not self.ended_by and histogram:
            self.ended_by = "one of its end rules"

    @property
    def _written_before_steady_state(self) -> float:
        """Bytes that have to be written before steady state counts; none where nothing is ever written."""
        fills = 0 if self.workload.read_pct >= 100 else self.conditions.steady_after_drive_fills
        return fills * self.run.manifest.target.user_capacity_bytes

    @property
    def tracked(self) -> list[Sample]:
        """The tracked minutes of the window."""
        verdict = self.results.verdict
        rounds = () if verdict is None else verdict.rounds
        minute_ns = self.conditions.minute_ns
        whole = {
            one.number: one.sample
            for one in self.steps
            if one.tracked and is_whole_minute(one.sample, minute_ns)
        }
        return [whole[number] for number in rounds]

    @property
    def prefix(self) -> str:
        """The workload's part of page ids."""
        return f"{PREFIX}-{self.number}" if len(self.conditions.workloads) > 1 else PREFIX

    @property
    def demand(self) -> str:
        """The header's fields TOIO - TC/QD."""
        c, sequential = self.conditions, self.workload.sequential
        return f"TC {c.sequential_tc if sequential else c.tc} / QD {c.sequential_qd if sequential else c.qd}"

    @property
    def course(self) -> SaturationCurve:
        """What is plotted."""
        capacity_bytes = self.run.manifest.target.user_capacity_bytes
        return SaturationCurve(self.prefix, self.workload.title, self.results, capacity_bytes, self.ended_by)

    @property
    def steady_words(self) -> str:
        """The header's field Steady State."""
        verdict = self.results.verdict
        if self.results.steady and verdict is not None:
            return f"{verdict.rounds[0]} - {verdict.rounds[-1]}"
        return "not found" if verdict is not None else f"n/a ({self.tracked_words})"

    @property
    def state_words(self) -> str:
        """Whether Steady State was found, for figures that are shown apart from the rounds."""
        if self.results.steady:
            other = ", at another level than the end" if self.results.ends_elsewhere else ""
            return f"found in Tracking Round {self.results.steady_round}{other}"
        return self.steady_words

    @property
    def between_verdicts(self) -> tuple[Verdict, ...]:
        """A verdict on the minutes between the tracked ones, if they disagree with these."""
        return other_minutes_verdicts(self.others, self.workload.title, self.conditions.tracking_period_ns)

    @property
    def tracked_words(self) -> str:
        """How many tracked minutes there are of those that a window takes."""
        return f"{min(len(self.results.tracked_iops), WINDOW_ROUNDS)} of {WINDOW_ROUNDS} tracked minutes"


_LAST_NS: Final = 3600 * NS_PER_S
_IOPS: Final = tuple(
    Required(f"iops-{key}", f"Plot 10-{n}") for n, key in enumerate(("time", "tgbw", "fills"), start=1)
)
_HISTOGRAM: Final = Required("clp", "Plot 10-4")
REQUIRED: Final = (*_IOPS, _HISTOGRAM)

_LEVEL_PCT: Final = 1.0
"""What is no farther from another level in per cent of it is the same."""

_END_ZONE_MISSING: Final = "end zone not reached"


def _of_zone(pieces: Sequence[MeasuredInterval]) -> Uncertainty:
    return of_rates(
        (one.start_ns, one.measured.elapsed_ns, one.measured.iops) for one in pieces if not one.rest
    )


_ZONES: Final[tuple[Measure[SaturationZones], ...]] = (
    Measure(
        "end_zone_iops",
        "{name}, end zone",
        "IOPS",
        lambda zones: zones.end_zone_iops,
        absent=_END_ZONE_MISSING,
        uncertainty=lambda zones: _of_zone(zones.end_zone_pieces),
    ),
    Measure(
        "plateau_iops",
        "{name}, FOB plateau",
        "IOPS",
        lambda zones: zones.plateau_iops,
        of_steady_state=False,
        uncertainty=lambda zones: _of_zone(zones.plateau_pieces),
    ),
    Measure(
        "plateau_to_end_zone_ratio",
        "{name}, FOB plateau / end zone",
        "ratio",
        lambda zones: zones.ratio,
        decimals=2,
        absent=_END_ZONE_MISSING,
        on_cover=False,
        uncertainty=lambda zones: of_ratio(
            ("FOB plateau", zones.plateau_iops, _of_zone(zones.plateau_pieces)),
            ("end zone", zones.end_zone_iops or 0, _of_zone(zones.end_zone_pieces)),
        ),
    ),
)
_ART: Final[Metric[ResponseTimes]] = ART
_HISTOGRAM_MEASURES: Final[tuple[Measure[ResponseTimes], ...]] = (
    Measure("histogram_iops", "{name}, histogram", "IOPS", lambda times: times.iops, is_key=False),
    _ART.measure("histogram_art", "{name}, histogram ART", is_key=False),
    Measure(
        "histogram_five_nines",
        "{name}, histogram 5 9s",
        "ms",
        lambda times: percentile_cell(times, 5, required=True),
        stands_in=lambda times: times.percentile_ns(nines_percentile(5)) is None,
        is_key=False,
    ),
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(WriteSaturationConditions)
    begun = range(1, min(run.cycle_count, len(conditions.workloads)) + 1)
    cycles = [SaturationCycle(run, conditions, number) for number in begun]
    missing = [
        Verdict(f"{workload.title}: not begun.", "fail") for workload in conditions.workloads[len(cycles) :]
    ]
    steady = cycles[0].state_words if len(cycles) == 1 else "see verdicts"
    return ReportContent(
        verdicts=(*(verdict for cycle in cycles for verdict in _verdicts(cycle)), *missing),
        measures=tuple(one for cycle in cycles for one in _measures(cycle, steady)),
        sections=sections_of(run, *map(_section, cycles)),
        figures=lambda: {"workloads": [_figures(cycle) for cycle in cycles]},
        conditions=lambda: tuple(verdict for cycle in cycles for verdict in cycle.between_verdicts),
        curves=lambda: tuple(_curve(cycle) for cycle in cycles),
    )


def _curve(cycle: SaturationCycle) -> Curve:
    title = cycle.workload.title
    words = f"WSAT IOPS v Time - {title.replace(' KiB', 'KiB')}"
    return iops_curve(f"course of {title}", words, cycle.results.minutes)


def _verdicts(cycle: SaturationCycle) -> tuple[Verdict, ...]:
    ended = Verdict(end_sentence(cycle.course), "pass" if cycle.ended_by else "fail")
    return (ended, _steady_verdict(cycle), *cycle.between_verdicts)


def _steady_verdict(cycle: SaturationCycle) -> Verdict:
    """Steady state was looked for; it is no condition of the test unless it was to end the stimulus."""
    results, title = cycle.results, cycle.workload.title
    if results.steady:
        return Verdict(
            f"{title}: Steady State found in Tracking Round {results.steady_round} "
            f"(Tracking Rounds {cycle.steady_words}, rules of 2.1.24){_other_level(cycle.results)}.",
            "info" if results.ends_elsewhere else "pass",
        )
    count = len(results.tracked_iops)
    if results.verdict is None:
        return Verdict(f"{title}: Steady State can't be judged: n/a ({cycle.tracked_words}).")
    if cycle.state is not None:
        rule = f"no five of {count} are steady and known within {cycle.conditions.within_pct:g} %"
        return Verdict(f"{title}: Steady State not found in Tracking Rounds: {rule}.", "fail")
    return Verdict(
        f"{title}: Steady State not found in {count} Tracking Rounds"
        f" (looked for after {cycle.conditions.steady_after_drive_fills:g} x user capacity).",
        "fail" if cycle.conditions.stop_when_steady else "info",
    )


def _other_level(results: SaturationResults) -> str:
    if not results.ends_elsewhere or results.zones is None or results.verdict is None:
        return ""
    return (
        f"; at {cells.fixed(results.verdict.average, 0)} IOPS, another level than the "
        f"{cells.fixed(results.zones.final_iops, 0)} IOPS at the end"
    )


def _measures(cycle: SaturationCycle, steady: str) -> tuple[Measured, ...]:
    results, found = cycle.results, f"Steady State {cycle.state_words}"
    state = "" if results.steady and not results.ends_elsewhere else found
    subject = Subject(cycle.workload.title, steady=steady, state=state)
    return (
        replace(_of_minutes(cycle, _STEADY.of(cycle, subject)), on_cover=not cycle.is_from_fob),
        *(_of_zones(cycle, subject) if cycle.is_from_fob else ()),
        *_of_histogram(cycle, measured(_HISTOGRAM_MEASURES, results.histogram, subject)),
    )


def _of_minutes(cycle: SaturationCycle, one: Measured) -> Measured:
    """Steady State with the few minutes that it is of, and the level at the end where that is another."""
    if one.value is None:
        return one
    words, zones = f"mean of the minutes of Tracking Rounds {cycle.steady_words}", cycle.results.zones
    least = max(one.expanded_uncertainty or 0.0, _LEVEL_PCT / 100 * one.value)
    if zones is not None and abs(zones.final_iops - one.value) > least:
        way = "fell" if zones.final_iops < one.value else "rose"
        words += f", then it {way} to {cells.fixed(zones.final_iops, 0)} at the end"
    return replace(one, cell=replace(one.cell, note=words))


def _of_zones(cycle: SaturationCycle, subject: Subject) -> Iterator[Measured]:
    for one in measured(_ZONES, cycle.results.zones, subject):
        known = one.uncertainty
        yield (
            one if known is None else replace(one, uncertainty=since(known, cycle.steps[0].sample.started_ns))
        )


def _of_histogram(cycle: SaturationCycle, stated: Sequence[Measured]) -> tuple[Measured, ...]:
    """IOPS, average and 99.999 % response time with their uncertainties, from the intervals of its steps."""
    times, samples = cycle.results.histogram, cycle.run.phase(Phase.HISTOGRAM, cycle=cycle.number)
    if times is None:
        return tuple(stated)
    percentile = nines_percentile(5)
    pieces = [
        (samples[0].sample.started_ns + one.start_ns, one.measured.elapsed_ns, one.measured)
        for one in pieces_of([step.sample for step in samples])
        if not one.rest and one.measured.ios
    ]
    tails = (
        (start_ns, length_ns, LatencyDistribution.merged(o.histogram for o in of.transfers if o.histogram))
        for start_ns, length_ns, of in pieces
    )
    found = (
        of_rates((start_ns, length_ns, of.iops) for start_ns, length_ns, of in pieces),
        scaled(
            of_rates((start_ns, length_ns, of.mean_latency_ns or 0) for start_ns, length_ns, of in pieces),
            1 / NS_PER_MS,
        ),
        Uncertainty(reason="the maximum stands in for the percentile")
        if times.percentile_ns(percentile) is None
        else scaled(of_percentile(tails, percentile), 1 / NS_PER_MS),
    )
    return tuple(
        replace(one, uncertainty=_with_state(cycle, one.value, each))
        for one, each in zip(stated, found, strict=True)
    )


def _with_state(cycle: SaturationCycle, value: float | None, found: Uncertainty) -> Uncertainty:
    """In the short form: how far off the state may be that the pass has left."""
    if not cycle.state or value is None:
        return found
    return with_components(found, rectangular(STATE, cycle.state * value))


def _steady_average(cycle: SaturationCycle) -> float | Cell:
    """The window's average where it was steady, else what was found."""
    verdict = cycle.results.verdict
    if verdict is None or not cycle.results.steady:
        return cells.missing(f"Steady State {cycle.state_words}")
    return verdict.average


def _steady_uncertainty(cycle: SaturationCycle) -> Uncertainty | None:
    verdict = cycle.results.verdict
    if verdict is None:
        return None
    if cycle.state is not None:
        return _with_state(cycle, verdict.average, of_mean(blocks_of(cycle.tracked, lambda one: one.iops)))
    return of_rounds(
        [
            Block(one.started_ns, one.elapsed_ns, iops)
            for one, iops in zip(cycle.tracked, verdict.values, strict=True)
        ]
    )


_STEADY: Final = Measure[SaturationCycle](
    "steady_iops",
    "{name}, Steady State",
    "IOPS",
    _steady_average,
    on_cover=False,
    uncertainty=_steady_uncertainty,
)


def _section(cycle: SaturationCycle) -> TestSection:
    title, test = cycle.workload.title.replace(" KiB", "KiB"), "Write Saturation Test"
    status = "REQUIRED" if _is_default(cycle.workload) else "OPTIONAL"
    must_be_steady = cycle.conditions.stop_when_steady and not cycle.results.steady
    return TestSection(
        test=cycle.prefix,
        title=f"{test} - {title}" if len(cycle.conditions.workloads) > 1 else test,
        bar=f"{test} ({status}) - Report Page",
        heading=f"WSAT - {title}",
        setup=_setup_rows(cycle),
        test_rows=_test_rows(cycle),
        red_lines=("STEADY STATE NOT REACHED - last Tracking Rounds shown",) if must_be_steady else (),
        pages=lambda: with_transfer_size(
            (page for page in _pages(cycle, title) if page is not None),
            (size.block_size_bytes for size in cycle.workload.block_sizes),
        ),
        cycle=cycle.number,
    )


def _is_default(workload: Workload) -> bool:
    """RND 4 KiB 0/100 is what the test must apply; all others it may (10.2 step 2.2)."""
    required = simple_workload(workload.name, AccessPattern.RANDOM, 4 * KIB, 0)
    return replace(required, title=workload.title) == workload


def _setup_rows(cycle: SaturationCycle) -> Rows:
    return setup_rows(
        cycle.run,
        ("Pre Condition 1", "none (purged, FOB)" if cycle.is_from_fob else "one pass (short form)"),
        ("TOIO - TC/QD", "N/A"),
        ("Duration", "N/A"),
        ("Pre Condition 2", "none"),
        ("TOIO - TC/QD", "N/A"),
        ("SS Rounds", cycle.steady_words),
    )


def _test_rows(cycle: SaturationCycle) -> Rows:
    workload, times = cycle.workload, cycle.results.histogram
    sizes = [block_size_kib(size.block_size_bytes) for size in workload.block_sizes]
    length = "NOT RUN" if times is None else format_duration(times.elapsed_ns)
    return stimulus_rows(
        cycle.run,
        ("Test Stimulus 1", workload.title),
        ("RW Mix", f"{workload.read_pct}/{100 - workload.read_pct}"),
        ("Block Sizes", f"{sizes[0]} KiB" if len(sizes) == 1 else f"{len(sizes)} sizes"),
        ("TOIO - TC/QD", cycle.demand),
        ("Steady State", cycle.steady_words),
        ("Test Stimulus 2", f"{workload.title}, {length}"),
        ("TOIO - TC/QD", cycle.demand),
        ("Steady State", "N/A"),
    )


def _pages(cycle: SaturationCycle, title: str) -> tuple[Page | None, ...]:
    """The order of 10.3, then what may be added."""
    course = cycle.course
    axes = (
        (along_time(course), "Time", _IOPS[0], "Plot 10-6"),
        (along_tgbw(course), "TGBW", _IOPS[1], "Plot 10-7"),
        (along_fills(course), "Total Drive Writes/Fills", _IOPS[2], "Plot 10-8"),
    )

    def name(plot: Required, words: str) -> PlotName:
        return plot.named(cycle.prefix, f"WSAT {words}")

    return (
        stimulus_page(cycle.run, course, cycle.demand, cycle.number, cycle.conditions),
        *(
            iops_page(course, along, name(plot, f"IOPS v {words} - {title}"), _steady_at(cycle, along))
            for along, words, plot, _ in axes
        ),
        confidence_page(
            cycle.results.histogram,
            Applied(cycle.workload.title, cycle.demand, cycle.conditions.nines),
            name(_HISTOGRAM, f"Response Time Histogram - Confidence Level Plot - {title}"),
        ),
        response_times_page(
            course,
            name(Required("times", "Plot 10-5"), "Response Times & IOPS v Drive Fills - ART, 5 9s, MRT"),
        ),
        *(
            bandwidth_page(
                course,
                along,
                name(Required(f"mbps-{along.key}", number), f"Bandwidth v {words} - {title}"),
                _steady_at(cycle, along),
            )
            for along, words, _, number in axes
        ),
        replace(
            window_page(
                _window(cycle),
                name(Required("window", "Plot 10-9"), f"Steady State Measurement Window - {title}"),
            ),
            mandatory=cycle.conditions.stop_when_steady,
        ),
        zones_page(
            course,
            f"{cycle.prefix}-zones",
            f"WSAT Zones - {title}",
            cycle.state_words,
            is_from_fob=cycle.is_from_fob,
        ),
        *_consistency_pages(cycle, title),
    )


def _steady_at(cycle: SaturationCycle, along: MinuteAxis) -> float | None:
    """The place of the minute in which steady state was found."""
    results, conditions = cycle.results, cycle.conditions
    if not results.steady or results.steady_round is None:
        return None
    end_ns = (results.steady_round - 1) * conditions.tracking_period_ns + conditions.minute_ns
    # A minute may end a little after its nominal end: its last I/Os do.
    reached = [m for m in results.minutes if m.end_ns <= end_ns + conditions.minute_ns // 2]
    return along.of(reached[-1]) if reached else None


def _window(cycle: SaturationCycle) -> Window:
    conditions = cycle.conditions
    return Window(
        variable=cycle.workload.title,
        metric=IOPS,
        verdict=cycle.results.verdict,
        values=cycle.results.tracked_iops,
        reason=cycle.tracked_words,
        conditions=f"Minutes of {format_duration(conditions.minute_ns)}, which begin "
        f"{format_duration(conditions.tracking_period_ns)} apart; {cycle.demand}; "
        f"DP = {data_text(conditions)} [10.3.2].",
        round_word="Tracking Round",
        further_verdicts=cycle.between_verdicts,
    )


def _consistency_pages(cycle: SaturationCycle, title: str) -> tuple[Page, ...]:
    results = cycle.results
    last_ns = min(_LAST_NS, 60 * cycle.conditions.minute_ns)
    pieces = [p for p in whole_pieces(results.pieces) if p.end_ns >= results.elapsed_ns - last_ns]
    points = [((p.end_ns - results.elapsed_ns) / (60 * NS_PER_S), p.measured.iops) for p in pieces]
    interval_ns = max((p.measured.elapsed_ns for p in pieces), default=0)
    return consistency_pages(cycle.course, title, points, interval_ns)


def _figures(cycle: SaturationCycle) -> dict[str, Any]:
    """Key numbers of a workload, JSON-ready."""
    results, verdict = cycle.results, cycle.results.verdict
    zones, capacity_bytes = results.zones, cycle.run.manifest.target.user_capacity_bytes
    return {
        "workload": cycle.workload.name,
        "title": cycle.workload.title,
        "ended_by": cycle.ended_by or None,
        "elapsed_s": results.elapsed_ns / NS_PER_S,
        "written_bytes": results.written_bytes,
        "drive_fills": results.written_bytes / capacity_bytes if capacity_bytes else None,
        "tracked_iops": list(results.tracked_iops),
        "steady_state": {
            "reached": results.steady,
            "ends_elsewhere": results.ends_elsewhere,
            "state": cycle.state_words,
            "tracking_round": results.steady_round if results.steady else None,
            "average_iops": verdict.average if verdict and results.steady else None,
            "range_pct": verdict.range_pct if verdict else None,
            "slope_excursion_pct": verdict.slope_excursion_pct if verdict else None,
            "other_minutes": other_minutes_figures(cycle.others),
        },
        "zones": None
        if zones is None
        else {
            "plateau_iops": zones.plateau_iops,
            "plateau_minutes": zones.plateau_minutes,
            "settled_from_minute": zones.settled_from,
            "end_zone_iops": zones.end_zone_iops,
            "final_iops": zones.final_iops,
            "plateau_to_end_zone_ratio": zones.ratio,
        },
        "histogram": times_figures(results.histogram, cycle.conditions.nines),
    }
