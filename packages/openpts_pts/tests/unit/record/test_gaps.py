"""What lies between two steps: a purge is no gap, a pause is one."""

from msgspec.structs import replace

from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Phase
from tests.support.made_up_run import made_up_run


def with_gap(run: Run, cycle: int, phase: Phase, gap_ns: int) -> Run:
    """The run with that gap before the first step of a part."""
    (first, *_) = run.phase(phase, cycle=cycle)
    changed = replace(first, sample=replace(first.sample, gap_ns=gap_ns))
    return replace(run, steps=tuple(changed if step == first else step for step in run.steps))


def test_the_purge_between_two_cycles_is_no_gap() -> None:
    run = with_gap(made_up_run("tp"), 2, Phase.WIPC, 5 * NS_PER_S)
    assert max(step.sample.gap_ns or 0 for step in run.with_gaps) < NS_PER_S


def test_a_pause_inside_a_cycle_is_one() -> None:
    run = with_gap(made_up_run("tp"), 2, Phase.ROUND, 5 * NS_PER_S)
    (longest,) = [step for step in run.with_gaps if step.sample.gap_ns == 5 * NS_PER_S]
    assert (longest.place.cycle, longest.place.phase) == (2, Phase.ROUND)
