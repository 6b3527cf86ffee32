"""The stimulus of each step by its counts: order, gaps, histograms, tracked minutes (PTS 3 to 14)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import recorded_ios
from openpts.analysis.steady_state import disturbed_rounds
from openpts.units import NS_PER_S, format_block_size, format_duration, format_gap
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts.vocabulary.stimulus import Stimulus, planned_length_ns
from openpts.vocabulary.verdict import SteadyState, SteadyStateReport
from openpts_pts.evidence.evidence import (
    MINUTE_NS,
    Cases,
    Checks,
    Evidence,
    about,
    at_least,
    last_window,
    lasted,
    with_arguments,
)
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
from openpts_pts.evidence.settings import stimuli

# Mixes are drawn, by some engines at random: so far a share strays by chance in one of a million steps.
_STANDARD_ERRORS: Final = 5
# What simulated drives on a scale count is rounded.
_SIZE_ERROR: Final = 0.001


def read_pct(sample: Sample, scale: int) -> float:
    """Share of reads among reads and writes: that ordered, if the counts agree with it, else that counted.

    ``scale``: so many of the counts are one access that was drawn. What is outstanding at the end of a step
    was drawn as well, and a drive that answers reads first keeps writes among it.
    """
    stimulus, transfers = sample.step.stimulus, sample.read.ios + sample.write.ios
    if stimulus is None or not transfers:
        return 0.0
    share, counted = stimulus.read_pct / 100, sample.read.ios / transfers
    chance = _STANDARD_ERRORS * sqrt(share * (1 - share) * scale / transfers)
    cut_off = stimulus.toio * scale / transfers if 0 < share < 1 else 0.0
    return stimulus.read_pct if abs(counted - share) <= chance + cut_off else 100 * counted


def block_size_bytes(sample: Sample) -> int:
    """Bytes of a transfer: the size ordered, if the counts agree with it, else that counted."""
    stimulus = sample.step.stimulus
    if stimulus is None or not sample.ios:
        return 0
    counted = sample.bytes / sample.ios
    ordered = stimulus.block_size_bytes
    return ordered if abs(counted - ordered) <= _SIZE_ERROR * ordered else round(counted)


def mix_text(pct: float) -> str:
    """Reads/writes as the specification prints it: ``65/35``."""
    return f"{pct:.3g}/{100 - pct:.3g}"


def mixes(evidence: Evidence, samples: Iterable[Sample]) -> list[str]:
    """Each mix of reads and writes that these steps counted, once."""
    scale = evidence.manifest.target.scale
    return list(dict.fromkeys(mix_text(read_pct(sample, scale)) for sample in samples if sample.ios))


def _as_ordered(
    evidence: Evidence,
    holds: Callable[[Sample, Stimulus, int], bool],
    text: Callable[[Sample, Stimulus], str],
) -> Finding:
    ran = [(sample, sample.step.stimulus) for sample in evidence.samples()]
    applied = [(sample, stimulus) for sample, stimulus in ran if stimulus is not None and sample.ios]
    if not applied:
        return not_reached("no step was completed")
    scale = evidence.manifest.target.scale
    for sample, stimulus in applied:
        if not holds(sample, stimulus, scale):
            return deviated(str(stimulus), text(sample, stimulus))
    return met(f"counted as ordered in all {len(applied)} steps")


def _right_size(sample: Sample, stimulus: Stimulus, _scale: int) -> bool:
    return len(stimulus.block_sizes) > 1 or block_size_bytes(sample) == stimulus.block_size_bytes


def _bounded_demand(evidence: Evidence) -> Finding:
    """No interval ends with more outstanding than TC x QD."""
    outstanding = [
        (interval.in_flight, most)
        for sample in evidence.samples()
        if not sample.step.is_idle
        for most in [sample.step.toio]
        for interval in sample.intervals
    ]
    if not outstanding:
        return unverified("no intervals were recorded")
    over = [pair for pair in outstanding if pair[0] > pair[1]]
    if over:
        return deviated(f"{over[0][1]} outstanding at most, TC x QD", f"{over[0][0]} at an interval's end")
    return met(f"never more than TC x QD outstanding in {len(outstanding)} intervals")


MEASURED: Final[Checks] = {
    "PTS-DEF-13": _bounded_demand,
    "PTS-TOOL-06": with_arguments(
        _as_ordered,
        lambda sample, stimulus, scale: read_pct(sample, scale) == stimulus.read_pct,
        lambda sample, _: mix_text(100 * sample.read.ios / (sample.read.ios + sample.write.ios)),
    ),
    "PTS-TOOL-08": with_arguments(
        _as_ordered, _right_size, lambda sample, _: format_block_size(block_size_bytes(sample))
    ),
}


# The specification gives no figure for "without delay": a drive's own work on idling takes longer to begin.
_LONGEST_GAP_NS: Final = NS_PER_S


def purge_first(evidence: Evidence) -> Finding:
    """Each cycle that came to its first step began with a purge that ran."""
    purges = evidence.manifest.purges
    cycles = max([1, *(step.place.cycle for step in evidence.run.steps)])
    if not purges:
        return not_reached("no purge was begun") if not evidence.run.steps else deviated("a purge", "none")
    for number in range(1, cycles + 1):
        if number > len(purges) or not purges[number - 1].ran:
            detail = purges[number - 1].detail if number <= len(purges) else "not in the record"
            return deviated("a purge", f"none before cycle {number}: {detail}")
    return met(f"{purges[0].method}, before {'each cycle' if cycles > 1 else 'the first step'}")


def directly_after_purge(evidence: Evidence, phase: Phase) -> Finding:
    """The purge, then this part, with no preconditioning between."""
    firsts: dict[int, Phase] = {}
    for step in evidence.run.steps:
        firsts.setdefault(step.place.cycle, step.place.phase)
    others = [found for found in firsts.values() if found is not phase]
    if others:
        return deviated("the stimulus right after the purge", f"{others[0]} first")
    return purge_first(evidence)


def gap_before(evidence: Evidence, phase: Phase) -> Finding:
    """The time without I/O before the first step of each cycle's part."""
    gaps: dict[int, int | None] = {}
    for step in evidence.steps:
        if step.place.phase is phase:
            gaps.setdefault(step.place.cycle, step.sample.gap_ns)
    return _gaps(list(gaps.values()))


def gaps_between(evidence: Evidence, *parts: Phase) -> Finding:
    """The time without I/O between the steps of these parts, of all without any."""
    complete = {step.place for step in evidence.steps}
    steps = [step for step in evidence.run.with_gaps if step.place in complete]
    return _gaps([s.sample.gap_ns for s in steps if not parts or s.place.phase in parts])


def _gaps(gaps: list[int | None]) -> Finding:
    known = [gap for gap in gaps if gap is not None]
    if not known:
        return not_reached("no two steps ran one after the other")
    longest = max(known)
    text = f"longest gap {format_gap(longest)}"
    return met_if(longest <= _LONGEST_GAP_NS, "no pause", text)


def _without_purge(evidence: Evidence) -> Finding | None:
    purges = evidence.manifest.purges
    if not purges:
        return not_reached("no purge was begun")
    if all(purge.ran for purge in purges):
        return not_applicable("a purge was run")
    return None


def _purge_named(evidence: Evidence) -> Finding:
    purges = evidence.manifest.purges
    return met(", ".join(dict.fromkeys(purge.method for purge in purges if purge.ran)))


def _purged(evidence: Evidence) -> Finding:
    ran = [purge for purge in evidence.manifest.purges if purge.ran]
    return all_of(
        met_if(
            purge.samples > 0 and purge.changed_samples == purge.samples,
            "no mark left after the purge",
            f"{purge.changed_samples} of {purge.samples} marks gone",
        )
        for purge in ran
    )


def _uninterrupted(evidence: Evidence) -> Finding:
    broken = [step for step in evidence.run.steps if step.sample.state is not StepState.COMPLETE]
    if broken:
        return deviated("no interruption", f"{broken[0].place} was {broken[0].sample.state}")
    return gaps_between(evidence, Phase.WIPC, Phase.ROUND)


def _common_flow(evidence: Evidence) -> Finding:
    by_cycle: dict[int, dict[Phase, None]] = {}
    for step in evidence.steps:
        by_cycle.setdefault(step.place.cycle, {})[step.place.phase] = None
    for cycle, phases in by_cycle.items():
        parts = list(phases)
        if parts[:2] != [Phase.WIPC, Phase.ROUND]:
            text = ", ".join(phase.upper() for phase in parts)
            return deviated("purge, WIPC, test loop", f"{text} in cycle {cycle}")
    return purge_first(evidence)


def _two_part_preconditioning(evidence: Evidence) -> Finding:
    if not evidence.of(Phase.WIPC):
        return deviated("WIPC, then WDPC", "rounds without WIPC")
    return met("WIPC as a step of its own, then the rounds")


def _controlled(evidence: Evidence) -> Finding:
    """Write history by a purge, workload and data by the stimulus of each step."""
    found = stimuli(evidence.samples())
    if not found:
        return not_reached("no step was completed")
    seed = evidence.manifest.conditions.seed
    return all_of([purge_first(evidence), met(f"{len(found)} steps with their stimuli, seed {seed}")])


SEQUENCE: Final[Checks] = {
    "PTS-GEN-07": _controlled,
    "PTS-DEF-10": _purged,
    "PTS-PRG-01": purge_first,
    "PTS-PRG-03": _purge_named,
    "PTS-PRE-01": _two_part_preconditioning,
    "PTS-PRE-05": _uninterrupted,
    "PTS-PRE-06": with_arguments(gap_before, Phase.ROUND),
    "PTS-FLOW-01": _common_flow,
    "PTS-TOOL-10": gaps_between,
}
SEQUENCE_CASES: Final[Cases] = {"PTS-PRG-02": _without_purge}


# 99.999 %, which both tests ask for unless the operator asks for more
_DEFAULT_NINES: Final = 5


def lasts(evidence: Evidence, phase: Phase, minutes: int) -> Finding:
    """Each number of a phase runs for so many minutes or more."""
    return all_of(
        met_if(
            at_least(length_ns := sum(s.elapsed_ns for s in found.samples), minutes * MINUTE_NS),
            f"{minutes} min",
            format_duration(length_ns),
        )
        for found in evidence.rounds(phase)
    )


def nines_chosen(evidence: Evidence) -> int | None:
    """The nines that the operator asked for."""
    nines = getattr(evidence.manifest.conditions, "nines", None)
    return nines if isinstance(nines, int) else None


def more_nines(evidence: Evidence) -> Finding:
    """Nines are an option."""
    nines = nines_chosen(evidence)
    return not_applicable("no other nines were requested") if nines is None else met(f"{nines} nines")


def length_from_rate(evidence: Evidence) -> Finding:
    """With nines the length was worked out; enough I/Os are the proof."""
    if nines_chosen(evidence) is None:
        return not_applicable("no other nines were requested")
    return enough_ios(evidence, 1)


def enough_ios(evidence: Evidence, times: float) -> Finding:
    """So many times 10^N I/Os for N nines."""
    needed = round(times * 10 ** (nines_chosen(evidence) or _DEFAULT_NINES))
    return all_of(
        met_if((ios := sum(map(recorded_ios, found.samples))) >= needed, f"{needed:,} I/Os", f"{ios:,} I/Os")
        for found in evidence.rounds(Phase.HISTOGRAM)
    )


_PERIOD_NS: Final = 30 * MINUTE_NS
MOST_ROUNDS: Final = 25


class TrackedMinute(Struct, frozen=True):
    """The minute at the end of a tracking round."""

    cycle: int
    number: int
    sample: Sample


def minutes_of(evidence: Evidence) -> list[TrackedMinute]:
    """The tracked minutes of all cycles: the last step of each tracking round that came to its end."""
    by_cycle: dict[int, list[TrackedMinute]] = {}
    for phase in (Phase.WDPC, Phase.SATURATION):
        for record in evidence.rounds(phase):
            minute = TrackedMinute(record.cycle, record.number, record.samples[-1])
            by_cycle.setdefault(record.cycle, []).append(minute)
    return [
        minute
        for minutes in by_cycle.values()
        for minute in (minutes[:-1] if _is_cut(minutes[-1], minutes[0]) else minutes)
    ]


def _is_cut(minute: TrackedMinute, first: TrackedMinute) -> bool:
    """Whether the stimulus ended in the middle of a tracking round, before its minute or within it.

    That can only be the last one of its cycle, which is not its first; its last step is then longer than the
    minutes before it were planned, or it was ended by something else than its time.
    """
    if minute is first:
        return False
    planned_ns = planned_length_ns(minute.sample.step.stop)
    return planned_ns != planned_length_ns(first.sample.step.stop) or not at_least(
        minute.sample.elapsed_ns, planned_ns or 0
    )


def tracked_minutes(evidence: Evidence) -> Finding:
    """The tracked minutes last a minute, and begin 30 minutes after the one before."""
    found = minutes_of(evidence)
    return all_of(_minute(before, each) for before, each in zip([None, *found], found, strict=False))


def _minute(before: TrackedMinute | None, found: TrackedMinute) -> Finding:
    required, used = "1 min, every 30 min", format_duration(found.sample.elapsed_ns)
    right = lasted(found.sample, MINUTE_NS)
    if before is not None and before.cycle == found.cycle:
        distance_ns = found.sample.started_ns - before.sample.started_ns
        right = right and about(distance_ns, _PERIOD_NS)
        used = f"{used}, {format_duration(distance_ns)} after the one before"
    return met_if(right, required, used)


def logged_every_minute(evidence: Evidence, *parts: Phase) -> Finding:
    """Each step of these parts is recorded in intervals of a minute or less."""
    samples = [sample for phase in parts for sample in evidence.of(phase)]
    coarse = [s for s in samples if min(s.interval_ns, s.elapsed_ns) > MINUTE_NS]
    if not samples:
        return not_reached("no such step was completed")
    longest = max(min(s.interval_ns, s.elapsed_ns) for s in samples)
    return met_if(not coarse, "every minute", f"every {format_duration(longest)}")


def tracked_verdicts(evidence: Evidence) -> list[tuple[str, SteadyStateReport | None]]:
    """The tracked minutes of each cycle over their last window."""
    found = []
    minutes = defaultdict[int, list[Sample]](list)
    for each in minutes_of(evidence):
        minutes[each.cycle].append(each.sample)
    of_minutes = evidence.manifest.conditions.steady_state is SteadyState.MINUTES
    for cycle in evidence.tested_cycles:
        steady_round = None
        if of_minutes and cycle <= len(evidence.outcomes):
            steady_round = evidence.outcomes[cycle - 1].steady_round
        if minutes[cycle]:
            found.append(("tracked minutes", _window_of(minutes[cycle], steady_round)))
    return found


def _window_of(minutes: Sequence[Sample], steady_round: int | None) -> SteadyStateReport | None:
    disturbed = disturbed_rounds([minute] for minute in minutes)
    return last_window([minute.iops for minute in minutes], steady_round, disturbed)


def preconditioned(evidence: Evidence) -> Finding:
    """WDPC ran until its tracked minutes were steady, or for 25 of them."""
    minutes = [each.sample for each in minutes_of(evidence)]
    if not (evidence.of(Phase.ROUND) or evidence.of(Phase.WAIT_STATE) or evidence.outcomes):
        return not_reached(evidence.ending)
    report = _window_of(minutes, None)
    required = f"until steady, or {MOST_ROUNDS} tracking rounds"
    if report is not None and report.steady:
        return met(f"steady in tracking round {len(minutes)}")
    return met_if(len(minutes) >= MOST_ROUNDS, required, f"{len(minutes)} tracking rounds, not steady")
