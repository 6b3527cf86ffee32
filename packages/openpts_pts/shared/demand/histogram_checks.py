"""Max, Min and Mid points of CBW and DIRTH, with histograms, chosen again from the record (13.2, 14.2)."""

from typing import Final

from openpts.units import NS_PER_MS, format_latency_ms
from openpts.vocabulary.phase import Phase
from openpts_pts.evidence.check import Check
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, all_of, deviated, met, met_if
from openpts_pts.evidence.histograms import lasts
from openpts_pts.evidence.measured import mix_text, mixes
from openpts_pts.evidence.settings import stimuli
from openpts_pts.evidence.tracking import logged_every_minute
from openpts_pts.shared.demand.checks import all_writes, average_at

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


def maximum_is_highest(evidence: Evidence) -> Finding:
    """Of the points below 5 ms none has more IOPS, but for the plateau."""
    point, averages = _at(evidence, _MAXIMUM), average_at(evidence)
    eligible = {other: iops for other, (iops, art_ns) in averages.items() if art_ns < _ART_LIMIT_NS}
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
    point = _at(evidence, _MAXIMUM)
    averages = average_at(evidence)
    eligible = {other: iops for other, (iops, art_ns) in averages.items() if art_ns < _ART_LIMIT_NS}
    highest = max(eligible.values())
    lowest = min(other[0] * other[1] for other, iops in eligible.items() if iops >= _PLATEAU * highest)
    return met_if(point[0] * point[1] == lowest, f"TOIO {lowest}", _text(evidence, point))


def minimum(evidence: Evidence) -> Finding:
    """TC 1, QD 1."""
    point = _at(evidence, _MINIMUM)
    return met_if(point == _LOWEST, "TC 1 QD 1", _text(evidence, point))


def middles(evidence: Evidence) -> Finding:
    """Measured points whose IOPS lie strictly between minimum and maximum."""
    averages = average_at(evidence)
    numbers = sorted({found.number for found in evidence.rounds(Phase.HISTOGRAM)} - {_MAXIMUM, _MINIMUM})
    ends = [averages.get(_at(evidence, number)) for number in (_MINIMUM, _MAXIMUM)]
    low, high = (end[0] if end else 0.0 for end in ends)
    findings = []
    for number in numbers:
        point = _at(evidence, number)
        average = averages.get(point)
        findings.append(
            met_if(
                average is not None and low < average[0] < high,
                f"a measured point between {low:,.0f} and {high:,.0f} IOPS",
                _text(evidence, point),
            )
        )
    return all_of(findings)


def nearest_to_the_middle(evidence: Evidence) -> Finding:
    """No other point is nearer to half way; with several, each is the nearest to its even share."""
    averages = average_at(evidence)
    numbers = sorted({found.number for found in evidence.rounds(Phase.HISTOGRAM)} - {_MAXIMUM, _MINIMUM})
    ends = [averages.get(_at(evidence, number)) for number in (_MINIMUM, _MAXIMUM)]
    if ends[0] is None or ends[1] is None:
        return deviated("measured points", "points that no round measured")
    low, high = ends[0][0], ends[1][0]
    selected: set[tuple[int, int]] = set()
    findings = []
    for count, number in enumerate(numbers, start=1):
        target = low + count * (high - low) / (len(numbers) + 1)
        point = _at(evidence, number)
        distances = {
            other: abs(iops - target)
            for other, (iops, _) in averages.items()
            if low < iops < high and other not in selected
        }
        selected.add(point)
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
        [lasts(phase, 60)(evidence), all_writes(phase)(evidence), logged_every_minute(phase)(evidence)]
    )


def histograms(read_pct: float | None) -> Check:
    """10 minutes each, at that mix (None is any), with every completion time captured."""

    def check(evidence: Evidence) -> Finding:
        samples = evidence.of(Phase.HISTOGRAM)
        captured = [sample.step.capture for sample in samples]
        kept = evidence.manifest.capture
        lost = kept.lost if kept is not None else "the capture was never completed"
        findings = [lasts(Phase.HISTOGRAM, 10)(evidence)]
        if read_pct is not None:
            used = mixes(evidence, samples)
            findings.append(met_if(used == [mix_text(read_pct)], mix_text(read_pct), ", ".join(used)))
        required = "every completion time captured"
        if not all(captured):
            findings.append(deviated(required, f"captured in {sum(captured)} of {len(captured)} histograms"))
        else:
            findings.append(deviated(required, lost) if lost else met(required))
        return all_of(findings)

    return check


def order(evidence: Evidence) -> Finding:
    """Maximum, minimum, then those between."""
    came = [step.place.number for step in evidence.steps if step.place.phase is Phase.HISTOGRAM]
    numbers = list(dict.fromkeys(came))
    points = ", ".join(f"TC {tc} QD {qd}" for tc, qd in (_at(evidence, number) for number in numbers))
    return met_if(numbers == sorted(numbers), "maximum, minimum, mid", points)
