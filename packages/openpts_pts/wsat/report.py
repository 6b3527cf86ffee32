"""The report of write saturation: one section for each workload (PTS 10.3)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis import uncertainty
from openpts.analysis.latency import LatencyDistribution, ResponseTimes, nines_percentile
from openpts.analysis.minutes import MeasuredInterval, pieces_of
from openpts.procedures.kit import header
from openpts.procedures.kit.content import ReportContent, iops_curve
from openpts.procedures.kit.steps import ART, Metric
from openpts.record.reader import Run
from openpts.units import GB, KIB, NS_PER_MS, NS_PER_S, block_size_kib, format_duration
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.workload import simple_workload
from openpts_pages import cells
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Cell, Verdict
from openpts_pts.shared.confidence_page import percentile_cell, times_figures
from openpts_pts.shared.minutes_table import with_transfer_size
from openpts_pts.shared.saturation import SaturationResults, SaturationZones
from openpts_pts.wsat import WriteSaturationConditions, pages
from openpts_pts.wsat.pages import SaturationCycle

REQUIRED: Final = pages.REQUIRED

_LEVEL_PCT: Final = 1.0
"""What is no farther from another level in per cent of it is the same."""

_END_ZONE_MISSING: Final = "end zone not reached"
_ASKED: Final = ("end_zone_iops", "steady_iops", "histogram_iops", "plateau_iops")
_HEADLINE: Final = 7


def _of_zone(pieces: Sequence[MeasuredInterval]) -> Uncertainty:
    return uncertainty.of_rates(
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
        absent=pages.NO_PLATEAU,
        of_steady_state=False,
        uncertainty=lambda zones: _of_zone(zones.fresh_pieces),
    ),
    Measure(
        "plateau_to_end_zone_ratio",
        "{name}, FOB plateau / end zone",
        "ratio",
        lambda zones: zones.ratio if zones.plateau_minutes else cells.missing(pages.NO_PLATEAU),
        decimals=2,
        absent=_END_ZONE_MISSING,
        on_cover=False,
        uncertainty=lambda zones: uncertainty.of_ratio(
            ("FOB plateau", zones.plateau_iops or 0, _of_zone(zones.fresh_pieces)),
            ("end zone", zones.end_zone_iops or 0, _of_zone(zones.end_zone_pieces)),
        ),
    ),
)
_OF_FALL: Final[tuple[Measure[SaturationZones], ...]] = (
    Measure(
        "cache_iops",
        "{name}, in the cache",
        "IOPS",
        lambda zones: zones.cache_iops,
        of_steady_state=False,
        uncertainty=lambda zones: _of_zone(zones.fresh_pieces),
    ),
    Measure(
        "written_until_fall",
        "{name}, written until it falls",
        "GB",
        lambda zones: zones.fresh_bytes,
        per=GB,
        decimals=1,
        of_steady_state=False,
        uncertainty=lambda _: Uncertainty(reason="read off between two intervals"),
    ),
    Measure(
        "behind_fall_iops",
        "{name}, behind the fall",
        "IOPS",
        lambda zones: zones.behind_iops,
        of_steady_state=False,
        uncertainty=lambda _: Uncertainty(reason="the rate may still change there"),
    ),
)
"""What is known of the end of the fresh rate; shown where there is one."""
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
    cycles = [pages.analyze_cycle(run, number) for number in begun]
    missing = [
        Verdict(f"{workload.title}: not begun.", "fail") for workload in conditions.workloads[len(cycles) :]
    ]
    steady = cycles[0].state_text if len(cycles) == 1 else "see verdicts"
    return ReportContent(
        verdicts=(*(verdict for cycle in cycles for verdict in _verdicts(cycle)), *missing),
        measures=tuple(one for cycle in cycles for one in _measures(cycle, steady)),
        sections=header.sections_of(run, *map(_section, cycles)),
        figures=lambda: {"workloads": [_figures(cycle) for cycle in cycles]},
        conditions=lambda: tuple(verdict for cycle in cycles for verdict in cycle.between_verdicts),
        curves=lambda: tuple(
            iops_curve(
                f"course of {one.workload.title}", f"WSAT IOPS v Time - {one.title}", one.results.minutes
            )
            for one in cycles
        ),
    )


def _verdicts(cycle: SaturationCycle) -> tuple[Verdict, ...]:
    ended = Verdict(cycle.end, "pass" if cycle.ended_by else "fail")
    return (ended, _steady_verdict(cycle), *cycle.between_verdicts)


def _steady_verdict(cycle: SaturationCycle) -> Verdict:
    """Steady state was looked for; it is no condition of the test unless it was to end the stimulus."""
    results, title = cycle.results, cycle.workload.title
    if results.steady:
        return Verdict(
            f"{title}: Steady State found in Tracking Round {results.steady_round} "
            f"(Tracking Rounds {cycle.steady_text}, rules of 2.1.24){_other_level(cycle.results)}.",
            "info" if results.ends_elsewhere else "pass",
        )
    count = len(results.tracked_iops)
    if results.verdict is None:
        return Verdict(f"{title}: Steady State can't be judged: n/a ({cycle.tracked_text}).")
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
    results, found = cycle.results, f"Steady State {cycle.state_text}"
    state = "" if results.steady and not results.ends_elsewhere else found
    subject = Subject(cycle.workload.title, steady=steady, state=state)
    shown = (
        replace(_of_minutes(cycle, _STEADY.of(cycle, subject)), on_cover=not cycle.is_from_fob),
        *(_of_zones(cycle, subject) if cycle.is_from_fob else ()),
        *_of_histogram(cycle, measured(_HISTOGRAM_MEASURES, results.histogram, subject)),
    )
    return _with_headline(shown) if cycle.number == 1 else shown


def _with_headline(found: Sequence[Measured]) -> tuple[Measured, ...]:
    """A buyer asks for the end zone: for what is nearest to it where a short run has none."""
    known = {one.key.rpartition(".")[2]: one for one in found if one.value is not None}
    asked = next((known[key] for key in _ASKED if key in known), None)
    return tuple(replace(one, headline=_HEADLINE, is_key=True) if one is asked else one for one in found)


def _of_minutes(cycle: SaturationCycle, one: Measured) -> Measured:
    """Steady State with the few minutes that it is of, and the level at the end where that is another."""
    if one.value is None:
        return one
    text, zones = f"mean of the minutes of Tracking Rounds {cycle.steady_text}", cycle.results.zones
    least = max(one.expanded_uncertainty or 0.0, _LEVEL_PCT / 100 * one.value)
    if zones is not None and abs(zones.final_iops - one.value) > least:
        way = "fell" if zones.final_iops < one.value else "rose"
        text += f", then it {way} to {cells.fixed(zones.final_iops, 0)} at the end"
    return replace(one, cell=replace(one.cell, note=text))


def _of_zones(cycle: SaturationCycle, subject: Subject) -> Iterator[Measured]:
    of_fall = measured(_OF_FALL, cycle.results.zones, subject)
    hidden = (replace(one, is_key=False, on_cover=False) for one in of_fall if one.value is None)
    shown = (one for one in of_fall if one.value is not None)
    end_zone, *zones = measured(_ZONES, cycle.results.zones, subject)
    if cycle.results.zones is not None and (written_bytes := cycle.results.zones.fresh_bytes) is not None:
        end_zone = replace(
            end_zone, explanation=f"writes at the end, slower from {written_bytes / GB:,.1f} GB on"
        )
    for one in (end_zone, *zones, *shown, *hidden):
        if one.uncertainty is None:
            yield one
        else:
            start_ns = cycle.steps[0].sample.started_ns
            yield replace(one, uncertainty=uncertainty.since(one.uncertainty, start_ns))


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
    iops = uncertainty.of_rates((start_ns, length_ns, of.iops) for start_ns, length_ns, of in pieces)
    average = uncertainty.of_rates(
        (start_ns, length_ns, of.mean_latency_ns or 0) for start_ns, length_ns, of in pieces
    )
    if times.percentile_ns(percentile) is None:
        tail = Uncertainty(reason="the maximum stands in for the percentile")
    else:
        tail = uncertainty.scaled(uncertainty.of_percentile(tails, percentile), 1 / NS_PER_MS)
    found = (iops, uncertainty.scaled(average, 1 / NS_PER_MS), tail)
    return tuple(
        replace(one, uncertainty=_with_state(cycle, one.value, each))
        for one, each in zip(stated, found, strict=True)
    )


def _with_state(cycle: SaturationCycle, value: float | None, found: Uncertainty) -> Uncertainty:
    """In the short form: how far off the state may be that the pass has left."""
    if not cycle.state or value is None:
        return found
    return uncertainty.with_components(found, uncertainty.rectangular(uncertainty.STATE, cycle.state * value))


def _steady_average(cycle: SaturationCycle) -> float | Cell:
    """The window's average where it was steady, else what was found."""
    verdict = cycle.results.verdict
    if verdict is None or not cycle.results.steady:
        return cells.missing(f"Steady State {cycle.state_text}")
    return verdict.average


def _steady_uncertainty(cycle: SaturationCycle) -> Uncertainty | None:
    verdict = cycle.results.verdict
    if verdict is None:
        return None
    if cycle.state is not None:
        return _with_state(
            cycle,
            verdict.average,
            uncertainty.of_mean(uncertainty.blocks_of(cycle.tracked, lambda one: one.iops)),
        )
    return uncertainty.of_rounds(
        [
            uncertainty.Block(one.started_ns, one.elapsed_ns, iops)
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


def _section(cycle: SaturationCycle) -> header.TestSection:
    title, test, workload = cycle.title, "Write Saturation Test", cycle.workload
    # RND 4 KiB 0/100 is what the test must apply; all others it may (10.2 step 2.2)
    required = simple_workload(workload.name, AccessPattern.RANDOM, 4 * KIB, 0)
    status = "REQUIRED" if replace(required, title=workload.title) == workload else "OPTIONAL"
    sizes = [block_size_kib(size.block_size_bytes) for size in workload.block_sizes]
    times = cycle.results.histogram
    length = "NOT RUN" if times is None else format_duration(times.elapsed_ns)
    must_be_steady = cycle.conditions.stop_when_steady and not cycle.results.steady
    return header.TestSection(
        test=cycle.prefix,
        title=f"{test} - {title}" if len(cycle.conditions.workloads) > 1 else test,
        bar=f"{test} ({status}) - Report Page",
        heading=f"WSAT - {title}",
        setup=header.setup_rows(
            cycle.run,
            ("none (purged, FOB)" if cycle.is_from_fob else "one pass (short form)", "N/A", "N/A"),
            ("none", "N/A", cycle.steady_text),
        ),
        test_rows=header.stimulus_rows(
            cycle.run,
            ("Test Stimulus 1", workload.title),
            ("RW Mix", f"{workload.read_pct}/{100 - workload.read_pct}"),
            ("Block Sizes", f"{sizes[0]} KiB" if len(sizes) == 1 else f"{len(sizes)} sizes"),
            ("TOIO - TC/QD", cycle.demand),
            ("Steady State", cycle.steady_text),
            ("Test Stimulus 2", f"{workload.title}, {length}"),
            ("TOIO - TC/QD", cycle.demand),
            ("Steady State", "N/A"),
        ),
        red_lines=("STEADY STATE NOT REACHED - last Tracking Rounds shown",) if must_be_steady else (),
        pages=lambda: with_transfer_size(
            cycle.pages(), (size.block_size_bytes for size in workload.block_sizes)
        ),
        cycle=cycle.number,
    )


def _figures(cycle: SaturationCycle) -> dict[str, Any]:
    """Key numbers of a workload, JSON-ready."""
    results, verdict = cycle.results, cycle.results.verdict
    zones, capacity_bytes = results.zones, cycle.capacity_bytes
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
            "state": cycle.state_text,
            "tracking_round": results.steady_round if results.steady else None,
            "average_iops": verdict.average if verdict and results.steady else None,
            "range_pct": verdict.range_pct if verdict else None,
            "slope_excursion_pct": verdict.slope_excursion_pct if verdict else None,
            "other_minutes": cycle.others and cycle.others.figures,
        },
        "zones": None
        if zones is None
        else {
            "plateau_iops": zones.plateau_iops,
            "plateau_minutes": zones.plateau_minutes,
            "cache_iops": zones.cache_iops,
            "written_until_fall_bytes": zones.fresh_bytes,
            "behind_fall_iops": zones.behind_iops,
            "settled_from_minute": zones.settled_from,
            "end_zone_iops": zones.end_zone_iops,
            "final_iops": zones.final_iops,
            "plateau_to_end_zone_ratio": zones.ratio,
        },
        "histogram": times_figures(results.histogram, cycle.conditions.nines),
    }
