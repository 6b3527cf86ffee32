"""Demand variation, of CBW and DIRTH alike, against sections 13.2 and 14.2 (preconditioning and rounds)."""

from itertools import pairwise
from math import fsum
from typing import Final

from openpts.analysis.steady_state import WINDOW_ROUNDS, disturbed_rounds
from openpts.units import NS_PER_MS, format_duration, format_latency_ms, format_significant
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pts.evidence.evidence import MINUTE_NS, Evidence, RoundRecord, at_least, last_window, lasted
from openpts_pts.evidence.finding import (
    Finding,
    all_of,
    deviated,
    met,
    met_if,
    not_applicable,
    not_reached,
    unverified,
)
from openpts_pts.evidence.settings import active_range, averages_kept, cache, demand, stimuli
from openpts_pts.evidence.stimulus import lasts, logged_every_minute, mix_text, mixes
from openpts_pts.shared.demand.conditions import DemandConditions

DEMANDS: Final = (32, 16, 8, 6, 4, 2, 1)
_POINTS: Final = sorted(
    ((tc, qd) for tc in DEMANDS for qd in DEMANDS), key=lambda point: (-point[0] * point[1], -point[0])
)
_MOST_ROUNDS: Final = 25
_PREWRITE_CAPACITY: Final = 0.1
_WIPC_FILLS: Final = 2


def full_range(evidence: Evidence) -> Finding:
    """AR 100 %, in both classes."""
    return active_range(evidence, 100)


def cache_off(evidence: Evidence) -> Finding:
    """The write cache is off, as sections 13 and 14 demand for either class."""
    return cache(evidence, enabled=False)


def all_writes(evidence: Evidence, phase: Phase) -> Finding:
    """The pattern with 0/100."""
    used = mixes(evidence, evidence.of(phase))
    return met_if(used == ["0/100"], "0/100", ", ".join(used) or "none")


def demands(evidence: Evidence, field: str) -> Finding:
    """The TCs, or the QDs, of a round."""
    used = sorted({getattr(s, field) for s in stimuli(evidence.of(Phase.ROUND))}, reverse=True)
    text = ", ".join(str(value) for value in used)
    return met_if(tuple(used) == DEMANDS, ", ".join(map(str, DEMANDS)), text)


def round_prewrite(evidence: Evidence) -> Finding:
    """TC 32, QD 32, 0/100; 5 minutes at least; then 30 minutes, or 10 % of the capacity."""
    capacity = evidence.manifest.target.user_capacity_bytes
    findings = []
    for found in evidence.rounds(Phase.ROUND_PREWRITE):
        length_ns = sum(sample.elapsed_ns for sample in found.samples)
        share = sum(sample.write.bytes for sample in found.samples) / capacity
        long_enough = at_least(length_ns, 5 * MINUTE_NS)
        to_its_end = at_least(length_ns, 30 * MINUTE_NS) or at_least(share, _PREWRITE_CAPACITY)
        findings.append(
            met_if(
                long_enough and to_its_end,
                "5 min or more, until 30 min or 10 % of capacity",
                f"{format_duration(length_ns)}, {format_significant(share)} of capacity "
                f"before round {found.number}",
            )
        )
    before = {found.number for found in evidence.rounds(Phase.ROUND_PREWRITE)}
    without = [found.number for found in evidence.rounds(Phase.ROUND) if found.number not in before]
    if without:
        findings.append(deviated("a pre-write before each round", f"none before round {without[0]}"))
    phase = Phase.ROUND_PREWRITE
    return all_of([demand(evidence, 32, 32, phase), all_writes(evidence, phase), *findings])


def operating_points(evidence: Evidence) -> Finding:
    """A minute at each of 49 points, in order of decreasing TOIO."""
    findings = []
    for found in evidence.rounds(Phase.ROUND):
        toios = [stimulus.toio for stimulus in stimuli(list(found.samples))]
        lengths = [sample.elapsed_ns for sample in found.samples]
        right = (
            sorted(_demands_of(found), key=lambda point: (-point[0] * point[1], -point[0])) == _POINTS
            and toios == sorted(toios, reverse=True)
            and all(lasted(sample, MINUTE_NS) for sample in found.samples)
        )
        order = "falling" if toios == sorted(toios, reverse=True) else "mixed"
        used = f"{len(toios)} x {format_duration(min(lengths))}, TOIO {order} from {toios[0]} to {toios[-1]}"
        findings.append(met_if(right, "49 x 1 min, TOIO falling from 1024 to 1", used))
    return all_of(findings)


def ties(evidence: Evidence) -> Finding:
    """Of equal TOIO the higher TC first."""
    rounds = evidence.rounds(Phase.ROUND)
    if not rounds:
        return not_reached("no round was completed")
    for found in rounds:
        points = _demands_of(found)
        for (tc, qd), (next_tc, next_qd) in pairwise(points):
            if tc * qd == next_tc * next_qd and tc < next_tc:
                return deviated("the higher TC first", f"TC {tc} QD {qd} before TC {next_tc} QD {next_qd}")
    return met(f"in all {len(rounds)} rounds")


def until_steady(evidence: Evidence) -> Finding:
    """Rounds until IOPS at TC 32, QD 32 is steady, or 25."""
    if not (evidence.outcomes or evidence.of(Phase.HISTOGRAM_PREWRITE)):
        return not_reached(evidence.ending)
    values = tracked_iops(evidence)
    report = tracked_window(evidence)
    if report is not None and report.steady:
        return met(f"steady in round {len(values)}: range {format_significant(report.range_pct)} %")
    return met_if(
        len(values) >= _MOST_ROUNDS, "until steady, or 25 rounds", f"{len(values)} rounds, not steady"
    )


def tracked_iops(evidence: Evidence) -> list[float]:
    """IOPS of each round at the highest demand of the specification."""
    return [
        sample.iops
        for found in evidence.rounds(Phase.ROUND)
        for sample in found.samples
        if _demand(sample.step.stimulus) == _POINTS[0]
    ]


def tracked_window(evidence: Evidence) -> SteadyStateReport | None:
    """The last window of rounds, judged at the highest demand."""
    disturbed = disturbed_rounds(found.samples for found in evidence.rounds(Phase.ROUND))
    return last_window(tracked_iops(evidence), None, disturbed)


def optional_wipc(evidence: Evidence) -> Finding:
    """The optional 2 x user capacity before WDPC."""
    conditions = evidence.conditions(DemandConditions)
    if not conditions.precondition_passes:
        return not_applicable("no WIPC was requested")
    written = sum(sample.write.bytes for sample in evidence.of(Phase.WIPC))
    fills = written / evidence.manifest.target.user_capacity_bytes
    return met_if(
        at_least(fills, _WIPC_FILLS), "2 x user capacity", f"{format_significant(fills)} x user capacity"
    )


def minutes_kept(evidence: Evidence, phase: Phase) -> Finding:
    """Every minute of a phase, with IOPS, average and maximum response time."""
    return all_of([logged_every_minute(evidence, phase), averages_kept(evidence, phase)])


def has_cpu(evidence: Evidence, *parts: Phase) -> Finding:
    """Whether the processors' shares are in the record of the steps of these parts, of all without any."""
    samples = evidence.samples(*parts)
    if not samples:
        return not_reached("no such step was completed")
    without = sum(sample.cpu is None for sample in samples)
    if without == len(samples) and evidence.manifest.target.simulation is not None:
        return unverified("a simulated drive in virtual time uses no processor")
    return met_if(not without, "CPU system of every step", f"missing in {without} of {len(samples)} steps")


def cpu_kept(evidence: Evidence) -> Finding:
    """The processors' shares at every operating point."""
    return has_cpu(evidence, Phase.ROUND)


def points_kept(evidence: Evidence) -> Finding:
    """Every operating point with its figures, and the processors' shares."""
    return all_of([averages_kept(evidence, Phase.ROUND), cpu_kept(evidence)])


def prewrites_kept(evidence: Evidence) -> Finding:
    """Every minute of the pre-writes between rounds, and the processors' shares."""
    phase = Phase.ROUND_PREWRITE
    return all_of([minutes_kept(evidence, phase), has_cpu(evidence, phase)])


def average_at(evidence: Evidence) -> dict[tuple[int, int], tuple[float, float]]:
    """IOPS and ART (ns) of each operating point, averaged over the last five rounds."""
    values: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for found in evidence.rounds(Phase.ROUND)[-WINDOW_ROUNDS:]:
        for sample in found.samples:
            point, art_ns = _demand(sample.step.stimulus), sample.mean_latency_ns
            if point is not None and art_ns is not None:
                values.setdefault(point, []).append((sample.iops, art_ns))
    return {
        point: (fsum(iops for iops, _ in at) / len(at), fsum(art for _, art in at) / len(at))
        for point, at in values.items()
    }


def _demands_of(found: RoundRecord) -> list[tuple[int, int]]:
    return [(s.tc, s.qd) for s in stimuli(list(found.samples))]


def _demand(stimulus: Stimulus | None) -> tuple[int, int] | None:
    return None if stimulus is None else (stimulus.tc, stimulus.qd)


_ART_LIMIT_NS: Final = 5 * NS_PER_MS
_MAXIMUM, _MINIMUM, _FIRST_MIDDLE = 1, 2, 3
_LOWEST: Final = (1, 1)
# The specification gives no width of the plateau of highest IOPS; the project takes one per cent of it.
_PLATEAU: Final = 0.99


def _at(evidence: Evidence, number: int) -> tuple[int, int]:
    """TC and QD of a histogram."""
    stimulus = stimuli(evidence.of(Phase.HISTOGRAM, number))[0]
    return stimulus.tc, stimulus.qd


def _text(evidence: Evidence, point: tuple[int, int]) -> str:
    name = f"TC {point[0]} QD {point[1]}"
    if (average := average_at(evidence).get(point)) is None:
        return name
    return f"{name}: {average[0]:,.0f} IOPS, ART {format_latency_ms(average[1])} ms"


def measured_maximum(evidence: Evidence) -> Finding:
    """MaxIOPS is one of the operating points of the rounds."""
    point = _at(evidence, _MAXIMUM)
    return met_if(point in average_at(evidence), "a measured point", _text(evidence, point))


def maximum_below_limit(evidence: Evidence) -> Finding:
    """ART below 5 ms."""
    point = _at(evidence, _MAXIMUM)
    average = average_at(evidence).get(point)
    if average is None:
        return deviated("a measured point", _text(evidence, point))
    return met_if(average[1] < _ART_LIMIT_NS, "ART below 5 ms", _text(evidence, point))


def _eligible(evidence: Evidence) -> dict[tuple[int, int], float]:
    """IOPS of the points with an ART below 5 ms."""
    averages = average_at(evidence)
    return {point: iops for point, (iops, art_ns) in averages.items() if art_ns < _ART_LIMIT_NS}


def maximum_is_highest(evidence: Evidence) -> Finding:
    """Of the points below 5 ms none has more IOPS, but for the plateau."""
    point, eligible = _at(evidence, _MAXIMUM), _eligible(evidence)
    if point not in eligible:
        return deviated("the most IOPS at an ART below 5 ms", _text(evidence, point))
    highest = max(eligible.values())
    return met_if(
        eligible[point] >= _PLATEAU * highest, f"{highest:,.0f} IOPS, but for 1 %", _text(evidence, point)
    )


def maximum_at_lowest_toio(evidence: Evidence) -> Finding:
    """No point of the plateau has a lower TOIO."""
    if (finding := maximum_is_highest(evidence)).required:
        return finding
    point, eligible = _at(evidence, _MAXIMUM), _eligible(evidence)
    least = _PLATEAU * max(eligible.values())
    lowest = min(tc * qd for (tc, qd), iops in eligible.items() if iops >= least)
    return met_if(point[0] * point[1] == lowest, f"TOIO {lowest}", _text(evidence, point))


def minimum(evidence: Evidence) -> Finding:
    """TC 1, QD 1."""
    point = _at(evidence, _MINIMUM)
    return met_if(point == _LOWEST, "TC 1 QD 1", _text(evidence, point))


def _middles(evidence: Evidence) -> list[tuple[int, int]]:
    numbers = {found.number for found in evidence.rounds(Phase.HISTOGRAM)} - {_MAXIMUM, _MINIMUM}
    return [_at(evidence, number) for number in sorted(numbers)]


def middles(evidence: Evidence) -> Finding:
    """Measured points whose IOPS lie strictly between minimum and maximum."""
    averages = average_at(evidence)
    ends = (averages.get(_at(evidence, number)) for number in (_MINIMUM, _MAXIMUM))
    low, high = (end[0] if end else 0.0 for end in ends)
    return all_of(
        met_if(
            point in averages and low < averages[point][0] < high,
            f"a measured point between {low:,.0f} and {high:,.0f} IOPS",
            _text(evidence, point),
        )
        for point in _middles(evidence)
    )


def nearest_to_the_middle(evidence: Evidence) -> Finding:
    """No other point is nearer to half way; with several, each is the nearest to its even share."""
    averages, points = average_at(evidence), _middles(evidence)
    ends = [averages.get(_at(evidence, number)) for number in (_MINIMUM, _MAXIMUM)]
    if ends[0] is None or ends[1] is None:
        return deviated("measured points", "points that no round measured")
    low, high = ends[0][0], ends[1][0]
    findings = []
    for count, point in enumerate(points, start=1):
        target = low + count * (high - low) / (len(points) + 1)
        distances = {
            other: abs(iops - target)
            for other, (iops, _) in averages.items()
            if low < iops < high and other not in points[: count - 1]
        }
        right = point in distances and distances[point] <= min(distances.values())
        findings.append(met_if(right, f"nearest to {target:,.0f} IOPS", _text(evidence, point)))
    return all_of(findings)


def prewrites(evidence: Evidence) -> Finding:
    """60 minutes of 0/100 before each histogram, logged every minute."""
    before = {found.number for found in evidence.rounds(Phase.HISTOGRAM_PREWRITE)}
    without = [found.number for found in evidence.rounds(Phase.HISTOGRAM) if found.number not in before]
    if without:
        return deviated("pre-writes before each histogram", f"none before histogram {without[0]}")
    phase = Phase.HISTOGRAM_PREWRITE
    return all_of(
        [lasts(evidence, phase, 60), all_writes(evidence, phase), logged_every_minute(evidence, phase)]
    )


def histograms(evidence: Evidence, read_pct: float | None) -> Finding:
    """10 minutes each, at that mix (None is any), with every completion time captured."""
    samples = evidence.of(Phase.HISTOGRAM)
    captured = [sample.step.capture for sample in samples]
    kept = evidence.manifest.capture
    lost = kept.lost if kept is not None else "the capture was never completed"
    findings = [lasts(evidence, Phase.HISTOGRAM, 10)]
    if read_pct is not None:
        used = mixes(evidence, samples)
        findings.append(met_if(used == [mix_text(read_pct)], mix_text(read_pct), ", ".join(used)))
    required = "every completion time captured"
    if not all(captured):
        findings.append(deviated(required, f"captured in {sum(captured)} of {len(captured)} histograms"))
    else:
        findings.append(deviated(required, lost) if lost else met(required))
    return all_of(findings)


def order(evidence: Evidence) -> Finding:
    """Maximum, minimum, then those between."""
    steps = (step.place for step in evidence.steps if step.place.phase is Phase.HISTOGRAM)
    numbers = list(dict.fromkeys(place.number for place in steps))
    points = ", ".join(f"TC {tc} QD {qd}" for tc, qd in (_at(evidence, number) for number in numbers))
    return met_if(numbers == sorted(numbers), "maximum, minimum, mid", points)
