"""Idle time until a drive has come to rest, as a piece of a test script: a look now and then, reads only.

A drive with a fast cache empties it in the background while there is no I/O, and the next
measurement depends on how far it came (SOL-DEV-03, SOL-DEV-04). No standard command reports when that work is
done, so it is observed from outside: while blocks are moved, reads wait for it and the drive stays warm.
"""

from collections.abc import Callable

from msgspec import Struct

from openpts.analysis.settling import IdleObservation, Settling, judge, look_of
from openpts.fields.conditions import RestingConditions
from openpts.vocabulary.requests import Apply, ReadHealth, Script, ScriptPart, health_in, samples_in
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step
from openpts.vocabulary.workload import simple_workload


class SettlingCourse(Struct, frozen=True):
    """How a wait went: all looks in their order, and the last judgement."""

    looks: tuple[IdleObservation, ...]
    last: Settling


# SOL-DEV-03, SOL-DEV-04
def settle(
    rule: SettlingRule,
    active_range: ActiveRange,
    number: int,
    report: Callable[[IdleObservation, Settling], None] = lambda _look, _verdict: None,
) -> ScriptPart[SettlingCourse]:
    """Wait under Phase.REST of that number until the drive has come to rest, or for the longest time.

    ``report`` is called for each look with the judgement after it; a look in which openpts stood still
    doesn't count.
    """
    looks: list[IdleObservation] = []
    verdict = judge(looks, rule)
    idle_ns = 0
    while idle_ns < rule.longest_ns and not verdict.settled:
        length_ns = min(rule.look_ns, rule.longest_ns - idle_ns)
        idle = Step.of(None, Duration(length_ns))
        _, probe = samples_in((yield Apply(Phase.REST, number, (idle, probe_step(rule, active_range)))))
        reading = health_in((yield ReadHealth(Phase.REST, number)))
        idle_ns += length_ns
        if probe.standstills:
            continue
        looks.append(look_of(idle_ns, probe, reading))
        verdict = judge(looks, rule)
        report(looks[-1], verdict)
    return SettlingCourse(tuple(looks), verdict)


def rest(conditions: RestingConditions, number: int) -> Script:
    """Leave the drive alone before the measurement with that number, where the conditions ask for it."""
    if (rule := conditions.settling) is not None:
        yield from settle(rule, conditions.active_range, number)


def probe_step(rule: SettlingRule, active_range: ActiveRange) -> Step:
    """Single reads at random, one at a time: few enough to leave the drive in peace."""
    reads = simple_workload("probe", AccessPattern.RANDOM, rule.block_size_bytes, 100)
    return Step.of(reads.stimulus(tc=1, qd=1, active_range=active_range), Duration(rule.probe_ns))
