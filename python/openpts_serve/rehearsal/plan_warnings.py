"""What in a plan would not work on the real drive, or would not tell what it is meant to tell."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from openpts.record.reader import Run
from openpts.simulation.scale import ios_for_nines, nines_of, scale_concerns, times_text
from openpts.units import NS_PER_S, format_capacity
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import planned_length_ns
from openpts.vocabulary.verdict import SteadyState
from openpts_serve.rehearsal.reference_drive import Subject

# A run that takes more than this of the rated endurance should be a decision.
TBW_SHARE_LIMIT: Final = 0.05


class PlanConcern(Struct, frozen=True):
    """A flaw of a plan; ``message`` has the number, the limit and the next step."""

    subject: str
    message: str


def plan_concerns(
    subject: Subject, run: Run, steps: tuple[Step, ...], nines: int | None, tbw_share: float | None
) -> tuple[PlanConcern, ...]:
    """All that is to be said about the plan after its rehearsal."""
    return (
        *_steady_state(run),
        *_short_steps(subject, steps),
        *_nines(run, nines),
        *_cache(subject, run),
        *_endurance(tbw_share),
    )


def _steady_state(run: Run) -> Iterator[PlanConcern]:
    """Where a test looks for steady state in vain."""
    if run.manifest.conditions.steady_state is SteadyState.NONE:
        return
    for cycle in run.manifest.cycles:
        outcome = cycle.outcome
        if outcome.steady_round is None and outcome.last_round:
            where = f" of {cycle.title}" if cycle.title else ""
            yield PlanConcern(
                "steady state",
                f"not reached in {outcome.last_round} rounds{where}: allow more rounds, or longer ones",
            )


def _short_steps(subject: Subject, steps: tuple[Step, ...]) -> Iterator[PlanConcern]:
    """The planner's own rule at the real drive's size: nothing there is scaled."""
    for concern in scale_concerns(subject.preset, subject.capacity_bytes, 1, steps):
        if concern.subject == "phase length":
            yield PlanConcern("step length", concern.message)


def _nines(run: Run, nines: int | None) -> Iterator[PlanConcern]:
    """What shows percentiles has too few I/Os for them, at the rate that was rehearsed."""
    counts = [(_ios_of_real_step(sample), sample.step) for sample in _shown(run)]
    if nines is None or not counts:
        return
    ios, step = min(counts, key=lambda count: count[0])
    needed = ios_for_nines(nines)
    short = sum(count < needed for count, _ in counts)
    if short:
        yield PlanConcern(
            "nines",
            f"{nines} nines need {needed:,} I/Os; {short} of {len(counts)} test points have fewer, the "
            f"fewest {step} with {ios:,.0f}, which show {nines_of(ios)}: take steps "
            f"{times_text(needed / max(ios, 1))} times as long, or ask for fewer nines",
        )


def _shown(run: Run) -> list[Sample]:
    """The histograms of a test that has some, else the last round of each cycle."""
    if histograms := run.phase(Phase.HISTOGRAM):
        return [step.sample for step in histograms]
    return [
        step.sample
        for number, cycle in enumerate(run.manifest.cycles, start=1)
        for step in run.phase(Phase.ROUND, cycle=number, number=cycle.outcome.last_round)
    ]


def _ios_of_real_step(sample: Sample) -> float:
    length_ns = planned_length_ns(sample.step.stop)
    return sample.ios if length_ns is None else sample.iops * length_ns / NS_PER_S


def _cache(subject: Subject, run: Run) -> Iterator[PlanConcern]:
    """A single-bit cache that nothing ever leaves hides the drive behind it."""
    share = subject.preset.slc_burst_share
    if share is None:
        return
    cache_bytes = round(share * subject.capacity_bytes)
    conditions = run.manifest.conditions
    active_bytes = round(
        (conditions.active_range.end_pct - conditions.active_range.start_pct) / 100 * subject.capacity_bytes
    )
    first = run.phase(Phase.WIPC) or list(run.steps)
    written_bytes = sum(step.sample.write.bytes for step in first)
    cache = f"the single-bit cache of a fresh drive takes {format_capacity(cache_bytes)}"
    if active_bytes < cache_bytes:
        yield PlanConcern(
            "active range",
            f"{cache}, the active range is {format_capacity(active_bytes)}: all of it can stay in the cache; "
            f"take an active range above {100 * share:.0f} %",
        )
    if written_bytes < cache_bytes:
        yield PlanConcern(
            "cache end",
            f"{cache}, {'preconditioning' if run.phase(Phase.WIPC) else 'the whole test'} writes "
            f"{format_capacity(written_bytes)}: its end is not reached before figures count; "
            f"write at least {share:.2g} times the capacity",
        )


def _endurance(tbw_share: float | None) -> Iterator[PlanConcern]:
    if tbw_share is not None and tbw_share > TBW_SHARE_LIMIT:
        yield PlanConcern(
            "endurance",
            f"the run takes {100 * tbw_share:.1f} % of the rated endurance ({100 * TBW_SHARE_LIMIT:g} % is "
            "the limit): take fewer rounds or a smaller active range, or accept it",
        )
