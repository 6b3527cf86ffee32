"""Comparison of drive states before measurement (precon).

Purpose
    What the state of a drive makes of its figures: fresh out of the box, after sequential and after random
    writes, and how long random writes take until they are steady from each of them.
Clause
    None: practice beyond the specification, after the preconditioning deck of LSI.
Steps
    1. Purge; of each benchmark a small test file and the rows, on the fresh drive.
    2. Purge, sequential conditioning, the rows of all benchmarks, random writes until steady.
    3. Purge, random writes from fresh until steady (the conditioning, and the course of a fresh drive),
       random writes on until steady again, the rows.
    In each state rows that read come before those that write, and those that write in the state's own order
    before the others, benchmark by benchmark. A row that comes after one of those others is preceded by a
    pass of the state's conditioning; a fresh drive can't be had back that way, and what was written before
    each row is reported. Where space is left free, test files are written in it, in each state. With
    entropies, all of it for each of them. On request the drive is left alone before the rows of each
    benchmark.
Pass rule
    None. Steady state by definition 2.1.24.
Reported
    IOPS over time and drive fills from each state; each row in the three states with its loss, and which of
    them counts for which use.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.ledger import RECOMMENDED_QD, RECOMMENDED_TC, Standard
from openpts.procedures.shared.settling import rest
from openpts.units import NS_PER_S
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    Script,
    ScriptPart,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ByteAmount, Duration, FirstOf, Step, Stimulus
from openpts.vocabulary.workload import DEFAULT
from openpts_practice.rows import BenchmarkProfile, ProfileRow
from openpts_practice.rows.precon import DriveState, InitialState, PreconConditions
from openpts_practice.rows.profiles import SHORT
from openpts_practice.rows.steps import (
    apply_row,
    conditioning_steps,
    file_steps,
    range_of,
    row_steps,
    sequential_writes,
    without_impossible_rows,
)
from openpts_pts.shared.script import JudgedRounds


# LSI-PRE-01, 05
def random_course(
    conditions: PreconConditions, number: int, capacity_bytes: int, least_fills: float
) -> ScriptPart[Outcome]:
    """Tracked minutes, with the writes between them, until five of them are steady.

    Not before ``least_fills`` user capacities are written: the plateau of a fresh drive is steady too.
    """
    judged = JudgedRounds(Phase.LOAD, (conditions.workload.title,))
    written_bytes, elapsed_ns = 0, 0
    for minute in count(1):
        steps = _round_steps(conditions, capacity_bytes, minute)
        samples = samples_in((yield Apply(Phase.LOAD, number, steps)))
        written_bytes += sum(sample.write.bytes for sample in samples)
        elapsed_ns += sum(sample.elapsed_ns for sample in samples)
        steady = yield from judged.steady_with(samples[-1:], samples[-1].iops)
        if steady and written_bytes >= least_fills * capacity_bytes:
            return Outcome(minute, minute)
        if written_bytes >= conditions.drive_fills * capacity_bytes:
            return Outcome(None, minute, f"{conditions.drive_fills:g} x user capacity written")
        if elapsed_ns >= conditions.longest_ns:
            return Outcome(None, minute, "the longest time elapsed")
    raise AssertionError("tracked minutes are counted without end")


def _round_steps(conditions: PreconConditions, capacity_bytes: int, number: int) -> tuple[Step, ...]:
    """The first tracked minute is a round by itself; before each other one lies the rest of its period.

    That ends with its amount, if the amount is written before the time is over.
    """
    stimulus = random_writes(conditions, capacity_bytes)
    minute = Step.of(stimulus, Duration(conditions.minute_ns))
    between_ns = conditions.tracking_period_ns - conditions.minute_ns
    if number == 1 or between_ns <= 0:
        return (minute,)
    amount_bytes = max(1, math.ceil(conditions.tracking_fills * capacity_bytes))
    return (Step.of(stimulus, FirstOf((Duration(between_ns), ByteAmount(amount_bytes)))), minute)


_MINUTE_NS: Final = 60 * NS_PER_S


# The short profile in the three states; demand of the random writes as in WSAT.
standard_conditions: Final = Standard(
    PreconConditions,
    benchmarks=(SHORT,),
    precondition_passes=2,
    recondition_passes=1,
    workload=DEFAULT,
    tc=RECOMMENDED_TC,
    qd=RECOMMENDED_QD,
    drive_fills=6,
    longest_ns=12 * 60 * _MINUTE_NS,
    tracking_period_ns=30 * _MINUTE_NS,
    tracking_fills=0.25,
    steady_after_drive_fills=2,
    file_share_pct=10,
)


supported_on = without_impossible_rows


# LSI-PRE-01 to 05, LSI-ENT-01, LSI-PROC-02 to 04, 06
def script(conditions: PreconConditions, user_capacity_bytes: int) -> Script:
    """A cycle for each state, from the purge on. Courses are numbered as the states that they start from."""
    conditionings, most = count(1), len(conditions.situations) * len(conditions.rows)
    for situation in conditions.situations:
        yield Purge()
        yield SetWriteCache(conditions.write_cache_enabled)
        test = _Cycle(conditions.of(situation), situation, user_capacity_bytes, conditionings, most)
        least_fills = conditions.steady_after_drive_fills
        match situation.state:
            case DriveState.FRESH:
                yield from test.measure()
                outcome = Outcome(steady_round=None, last_round=0)
            case DriveState.SEQUENTIAL:
                yield from test.condition(conditions.precondition_passes)
                yield from test.measure()
                yield from test.restore()
                outcome = yield from test.course(DriveState.SEQUENTIAL, least_fills)
            case DriveState.RANDOM:
                outcome = yield from test.course(DriveState.FRESH, least_fills)
                yield from test.course(DriveState.RANDOM, 0)
                yield from test.measure()
        yield CycleFinished(outcome, str(situation))


def sequence_of(rows: Sequence[ProfileRow], state: DriveState) -> tuple[int, ...]:
    """The places of the rows, in the order in which they harm a state least: reads first."""

    def harm(place: int) -> int:
        row = rows[place]
        if row.read_pct == 100:
            return 0
        return 2 if _disturbs(row, state) else 1

    return tuple(sorted(range(len(rows)), key=harm))


def _disturbs(row: ProfileRow, state: DriveState) -> bool:
    """Whether a row writes in another order than what made the state; order comes first to a fresh drive."""
    own_pct = 100 if state is DriveState.RANDOM else 0
    return row.read_pct < 100 and row.random_pct != own_pct


class _Cycle(Struct):
    """The test in one situation: ``disturbed`` since its state was last made.

    ``conditionings`` are numbered through all situations; ``most`` are the rows of all.
    """

    conditions: PreconConditions
    situation: InitialState
    capacity_bytes: int
    conditionings: Iterator[int]
    most: int
    disturbed: bool = False

    def lay_file(self, benchmark: BenchmarkProfile) -> Script:
        """What the rows read, in order: a drive answers what was never written without its flash.

        Where conditioning wrote everything, there is something to read already.
        """
        if self.situation.state is DriveState.FRESH or self.conditions.leave_free is not None:
            share_pct = self.conditions.file_share_pct
            if steps := file_steps(benchmark, self.conditions, self.capacity_bytes, share_pct):
                yield from self.restore()
                yield Apply(Phase.CONDITIONING, next(self.conditionings), steps)

    def condition(self, passes: float) -> Script:
        """So many user capacities, written as the state wants it."""
        self.disturbed = False
        if self.situation.state is DriveState.RANDOM:
            stimulus = random_writes(self.conditions, self.capacity_bytes)
        else:
            stimulus = sequential_writes(self.conditions)
        if steps := conditioning_steps(self.conditions, stimulus, passes, self.capacity_bytes):
            yield Apply(Phase.CONDITIONING, next(self.conditionings), steps)

    def restore(self) -> Script:
        """Bring a disturbed state back; what was fresh stays used."""
        if self.disturbed and self.situation.state is not DriveState.FRESH:
            yield from self.condition(self.conditions.recondition_passes)

    # LSI-PROC-03, 04
    def measure(self) -> Script:
        """Benchmark by benchmark, the rows in the state's order; their numbers are those of any order."""
        position = 0
        before = self.conditions.situations.index(self.situation) * len(self.conditions.benchmarks)
        for number, benchmark in enumerate(self.conditions.benchmarks, start=before + 1):
            yield from self.lay_file(benchmark)
            yield from rest(self.conditions, number)
            for place in sequence_of(benchmark.rows, self.situation.state):
                yield from self.restore()
                row = benchmark.rows[place]
                steps = row_steps(
                    row,
                    self.conditions,
                    self.capacity_bytes,
                    after_another=position > 0,
                    share_pct=self.conditions.file_share_pct,
                )
                at = self.conditions.places(benchmark)[place]
                row_number = self.conditions.row_number(self.situation, at)
                apply = Apply(Phase.PROFILE, row_number, steps, self.most)
                yield from apply_row(row, self.conditions, apply)
                self.disturbed = self.disturbed or _disturbs(row, self.situation.state)
                position += 1

    def course(self, start: DriveState, least_fills: float) -> ScriptPart[Outcome]:
        """Random writes from a state until they are steady, which makes the random state."""
        number = self.conditions.load_number(replace(self.situation, state=start))
        outcome = yield from random_course(self.conditions, number, self.capacity_bytes, least_fills)
        self.disturbed = False
        return outcome


def random_writes(conditions: PreconConditions, capacity_bytes: int) -> Stimulus:
    """The random conditioning, of all that is not left free."""
    stimulus = conditions.stimulus(conditions.workload, tc=conditions.tc, qd=conditions.qd)
    return replace(stimulus, active_range=range_of(conditions, None, capacity_bytes))
