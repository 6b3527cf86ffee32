"""Write saturation test (WSAT).

Purpose
    How performance goes from that of a purged drive to steady state under a continuous stimulus.
Clause
    PTS 2.0.1 section 10; enterprise and client.
Steps
    Purge; without preconditioning RND 4 KiB 0/100 (or another workload) until 4 x user capacity is written or
    6 hours have passed, whichever is first, or on request until steady state; then 20 minutes more for the
    distribution of response times, or longer for more nines. Each workload starts with a purge. In the short
    form one pass comes before the stimulus, which then lasts until its steady state is known.
Pass rule
    None. Steady state by definition 2.1.24 over single minutes, 30 minutes apart, is always looked for after
    1 x user capacity and its tracking round reported; it ends the stimulus only on request.
Reported
    IOPS over time, total GB written and drive fills; histogram with confidence levels (10.3).
"""

import math
from collections import deque
from itertools import count
from statistics import fmean
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.analysis.uncertainty import blocks_of, is_known, of_mean
from openpts.errors import UsageError
from openpts.procedures.kit.ledger import RANGE_BY_CLASS, RECOMMENDED_QD, RECOMMENDED_TC, Rule, Standard
from openpts.units import NS_PER_S, block_size_kib, format_duration
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
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import ByteAmount, Duration, FirstOf, Step, Stimulus, Stream
from openpts.vocabulary.workload import DEFAULT, Workload, workload_on
from openpts_pts.shared.continuous import continuous, transferred_for
from openpts_pts.shared.nines import histogram_ns
from openpts_pts.shared.one_pass import condition_in_one_pass
from openpts_pts.shared.saturation import is_whole_minute
from openpts_pts.shared.script import JudgedRounds, Tracking
from openpts_pts.wsat import WriteSaturationConditions

_MINUTE_NS: Final = 60 * NS_PER_S

RULES: Final = (
    Rule("active_range", "PTS-WSAT-01", "10.2", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-WSAT-01", "10.2 (2.1.1)", "a volatile cache takes writes, or does not"),
    Rule("qd", "PTS-WSAT-04", "10.2 (2.1.2)", "the operator's choice; compare only at equal QD"),
    Rule("tc", "PTS-WSAT-05", "10.2 (2.1.3)", "the operator's choice; compare only at equal TC"),
    Rule("sequential_qd", "PTS-WSAT-04", "10.2 (2.1.2)", "the operator's choice; compare only at equal QD"),
    Rule("sequential_tc", "PTS-WSAT-05", "10.2 (2.1.3)", "several threads break up the sequence"),
    Rule("data", "PTS-WSAT-06", "10.2 (2.1.4)", "drives that compress or deduplicate do less work"),
    Rule(
        "workloads",
        "PTS-WSAT-07",
        "10.1, 10.2 (2.2.1)",
        "not the default stimulus: compare only alike",
        more_is_allowed=True,  # optional ones beside the default are no deviation: 10.2 (2.2.3)
    ),
    Rule(
        "within_pct",
        "PTS-WSAT-02",
        "10.2 (1, 2.2)",
        "one pass instead of the way from a purged drive: only the end of the curve is measured",
    ),
    Rule("impossible", "PTS-WSAT-07", "10.2 (2.2)", "smaller than a sector: other sizes have larger shares"),
    Rule("drive_fills", "PTS-WSAT-08", "10.2 (2.2)", "another amount may end before steady state, or after"),
    Rule("longest_ns", "PTS-WSAT-08", "10.2 (2.2)", "another time may end before steady state, or after"),
    Rule("minute_ns", "PTS-WSAT-09", "10.3.2", "steady state is judged by other times"),
    Rule("tracking_period_ns", "PTS-WSAT-09", "10.3.2", "steady state is judged over another time"),
    Rule("steady_after_drive_fills", "PTS-WSAT-09", "10.3.2", "the plateau of a new drive may seem steady"),
    Rule("histogram_ns", "PTS-WSAT-18", "10.2 (2.4.1)", "fewer I/Os: fewer nines, rare events are missed"),
)


# The conditions as section 10.2 has them, with the recommended TC and QD.
standard_conditions: Final = Standard(
    WriteSaturationConditions,
    active_range=RANGE_BY_CLASS,
    workloads=(DEFAULT,),
    tc=RECOMMENDED_TC,
    qd=RECOMMENDED_QD,
    sequential_tc=1,
    sequential_qd=32,
    drive_fills=4,
    longest_ns=6 * 60 * _MINUTE_NS,
    tracking_period_ns=30 * _MINUTE_NS,
    histogram_ns=20 * _MINUTE_NS,
)


def supported_on(conditions: WriteSaturationConditions, sector_bytes: int) -> WriteSaturationConditions:
    """Leave out sizes that are no multiple of the sector, and workloads of which nothing is left.

    What was left out is kept in words. Raises UsageError if that is everything.
    """
    possible: list[Workload] = []
    impossible: list[str] = []
    for workload in conditions.workloads:
        if (left := workload_on(workload, sector_bytes)) is not None:
            possible.append(left)
        if left != workload:
            kept = () if left is None else left.block_sizes
            sizes = [size.block_size_bytes for size in workload.block_sizes if size not in kept]
            impossible.append(f"{workload.title}: {', '.join(map(block_size_kib, sizes))} KiB")
    if not possible:
        raise UsageError(f"not possible on sectors of {sector_bytes:,} bytes: {'; '.join(impossible)}")
    return replace(conditions, workloads=tuple(possible), impossible=tuple(impossible))


def script(conditions: WriteSaturationConditions, user_capacity_bytes: int) -> Script:
    """The script of 10.2, once for each workload; step numbers are the specification's."""
    for workload in conditions.workloads:  # 2.2.3
        # 1  Purge the device; no preconditioning follows
        yield Purge()

        # 2.1  Set and record test conditions
        yield SetWriteCache(conditions.write_cache_enabled)

        # 2.2  The stimulus until one of the rules ends it
        stimulus_conditions = yield from _conditioned(conditions, user_capacity_bytes)
        saturation = _Saturation.of(stimulus_conditions, workload, user_capacity_bytes)
        outcome = yield from saturation.run()

        # 2.4  Response times of the workload, longer for more nines
        stimulus = workload_stimulus(conditions, workload)
        measured = [] if saturation.measured is None else [saturation.measured]
        length_ns = histogram_ns(conditions.histogram_ns, conditions.nines, measured)
        yield Apply(Phase.HISTOGRAM, 1, continuous(stimulus, length_ns, conditions.minute_ns))
        yield CycleFinished(outcome, workload.title)


def _conditioned(
    conditions: WriteSaturationConditions, user_capacity_bytes: int
) -> ScriptPart[WriteSaturationConditions]:
    """In the short form one pass first; the conditions of the stimulus: full length where it doesn't hold."""
    if conditions.within_pct is None:
        return conditions
    holds = yield from condition_in_one_pass(
        conditions, user_capacity_bytes, conditions.known_flash, only_short=conditions.only_short is True
    )
    if holds:
        return conditions.after_the_pass
    return replace(conditions, within_pct=None)


def workload_stimulus(conditions: WriteSaturationConditions, workload: Workload) -> Stimulus:
    """A workload at its demand: sequential ones keep their sequence (reading AMB-22 of openpts)."""
    sequential = workload.sequential
    return conditions.stimulus(
        workload,
        tc=conditions.sequential_tc if sequential else conditions.tc,
        qd=conditions.sequential_qd if sequential else conditions.qd,
    )


class _Saturation(Struct):
    """The stimulus of one workload, cut into tracking rounds, and what is left until its end.

    ``left_bytes`` and ``steady_after_bytes`` count reads as well; None and 0 where nothing is written, since
    there is no history of writes to wait for. ``measured`` is the last step of a minute or more.
    """

    conditions: WriteSaturationConditions
    tracking: Tracking
    left_ns: int
    left_bytes: int | None
    steady_after_bytes: int
    judged: JudgedRounds
    steady_round: int | None = None
    measured: Sample | None = None
    window: deque[Sample] = field(default_factory=lambda: deque(maxlen=WINDOW_ROUNDS))

    @classmethod
    def of(
        cls, conditions: WriteSaturationConditions, workload: Workload, user_capacity_bytes: int
    ) -> "_Saturation":
        """The workload before its first I/O."""
        fills, reads = conditions.drive_fills, workload.read_pct
        return cls(
            conditions=conditions,
            tracking=Tracking(
                phase=Phase.SATURATION,
                streams=(Stream(workload_stimulus(conditions, workload)),),
                name=workload.title,
                minute_ns=conditions.minute_ns,
                period_ns=conditions.tracking_period_ns,
                max_rounds=math.ceil(conditions.longest_ns / conditions.tracking_period_ns) + 1,
            ),
            left_ns=conditions.longest_ns,
            left_bytes=transferred_for(fills * user_capacity_bytes, reads),
            steady_after_bytes=transferred_for(
                conditions.steady_after_drive_fills * user_capacity_bytes, reads
            )
            or 0,
            judged=JudgedRounds(Phase.SATURATION, (workload.title,)),
        )

    def run(self) -> ScriptPart[Outcome]:
        """Tracking rounds until a rule ends the stimulus, also in the middle of one."""
        for number in count(1):
            steps = self.tracking.round_steps(number)
            for step in steps:
                last = yield from self._apply(number, step)
                ended_by = self._ended_by()
                if step is steps[-1] and is_whole_minute(last, self.tracking.minute_ns):
                    steady = yield from self._judge(last)
                    if steady and self.conditions.stop_when_steady:
                        ended_by = ended_by or f"steady state in tracking round {number}"
                if ended_by:
                    return Outcome(self.steady_round, len(self.judged.history), ended_by)
        raise AssertionError("tracking rounds are counted without end")

    def _apply(self, number: int, step: Step) -> ScriptPart[Sample]:
        """A step of a tracking round, or what an end rule leaves of it; returns its last sample.

        Only when a step has ended is it known whether another one follows: each is asked for by itself.
        Threads share an amount evenly, so the quicker ones stop before the others: near its end the amount
        is approached by single minutes, lest TC drop for longer than a part of the last one.
        """
        most = self.tracking.max_rounds if self.conditions.stop_when_steady else None
        assert isinstance(step.stop, Duration)  # noqa: S101 so tracking rounds are made
        rest_ns = step.stop.duration_ns
        while True:
            length_ns = min(rest_ns, self.tracking.minute_ns) if self._near_amount(rest_ns) else rest_ns
            step, looks_inside = self._limited(length_ns), self.conditions.within_pct is not None
            request = Apply(Phase.SATURATION, number, (step,), most, with_intervals=looks_inside)
            samples = samples_in((yield request))
            self._take(samples[-1])
            rest_ns -= length_ns
            if rest_ns <= 0 or self._ended_by():
                return samples[-1]

    def _near_amount(self, length_ns: int) -> bool:
        """Whether threads may reach the amount in this time, at up to one and a half times the last rate."""
        if self.left_bytes is None or self.measured is None or self.tracking.stimulus.tc == 1:
            return False
        return self.left_bytes * NS_PER_S < 1.5 * self.measured.bandwidth_bytes_per_s * length_ns

    def _judge(self, minute: Sample) -> ScriptPart[bool]:
        """Whether the window that ends with this minute is steady; none is before 1 x user capacity.

        In the short form it has to be known well enough as well.
        """
        self.window.append(minute)
        steady = yield from self.judged.steady_with((minute,), minute.iops)
        if not steady or self.steady_after_bytes > 0 or not self._is_known():
            return False
        self.steady_round = self.steady_round or len(self.judged.history)
        return True

    def _is_known(self) -> bool:
        if (within_pct := self.conditions.within_pct) is None:
            return True
        minutes = blocks_of(self.window, lambda one: one.iops)
        return is_known(of_mean(minutes), fmean(one.value for one in minutes), within_pct / 100)

    def _limited(self, length_ns: int) -> Step:
        """A step of that length, ended early by what is left of time and amount."""
        duration = Duration(min(length_ns, self.left_ns))
        if self.left_bytes is None:
            return Step.of(self.tracking.stimulus, duration)
        return Step.of(self.tracking.stimulus, FirstOf((duration, ByteAmount(self.left_bytes))))

    def _take(self, sample: Sample) -> None:
        # Before the first step of a workload lies its purge, which is none of its time.
        gap_ns = 0 if self.measured is None else sample.gap_ns or 0
        self.left_ns -= sample.elapsed_ns + gap_ns
        if self.measured is None or is_whole_minute(sample, self.tracking.minute_ns):
            self.measured = sample
        self.steady_after_bytes -= sample.bytes
        if self.left_bytes is not None:
            self.left_bytes -= sample.bytes

    def _ended_by(self) -> str:
        # A rest that is too small for an I/O, or too short to measure anything in, is none.
        if self.left_bytes is not None and self.left_bytes < self.tracking.stimulus.block_size_bytes:
            return f"{self.conditions.drive_fills:g} x user capacity written"
        if self.left_ns < self.tracking.minute_ns / 100:
            return f"{format_duration(self.conditions.longest_ns)} elapsed"
        return ""
