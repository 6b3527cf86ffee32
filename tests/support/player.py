"""Plays a test script on made-up rates and writes down what it asks for, in the words of the tables."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import encode_counts
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Request,
    Script,
    SetWriteCache,
    SteadyStateChecked,
)
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ByteAmount,
    Capped,
    ClosedLoop,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    OperationWeights,
    RandomData,
    Step,
    Stimulus,
    StopRule,
    Uniform,
    Zones,
)
from tests.support.interval_samples import sample_of
from tests.support.table import duration_text, stimulus_text

Rate = Callable[[Stimulus, Phase, int], float | Fraction]
"""IOPS of a stimulus in a part and its number."""

Health = Callable[[Phase, int], HealthReading]
"""What the log says between the steps of a part and its number."""

# Parts of which only the whole length is given: a script may cut them for the record's sake.
_MAY_BE_CUT: Final = {Phase.ACCESS_GROUP, Phase.HISTOGRAM_PREWRITE, Phase.HISTOGRAM}
LONGEST_PIECE_S: Final = 1800
# Of the saturating stimulus what lies between two tracked minutes may be cut, which never joins them.
_BETWEEN_TRACKED_MINUTES_S: Final = 1740


@dataclass(frozen=True)
class Applied:
    """One step as it was carried out."""

    cycle: int
    phase: Phase
    number: int
    step: Step
    elapsed_ns: int


@dataclass
class Played:
    """All that a script asked for."""

    requests: list[Request] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)

    @property
    def outcomes(self) -> list[Outcome]:
        """How each cycle ended."""
        return [request.outcome for request in self.requests if isinstance(request, CycleFinished)]

    def checks(self, phase: Phase) -> list[SteadyStateChecked]:
        """Judgements of a part's windows, in order."""
        return [r for r in self.requests if isinstance(r, SteadyStateChecked) and r.phase is phase]

    def elapsed_s(self, *parts: Phase) -> float:
        """How long the steps of these parts took together."""
        return sum(a.elapsed_ns for a in self.applied if a.phase in parts) / NS_PER_S


class Drive(Struct, frozen=True):
    """Does everything at once, at the rates that it is told; ``capacity_bytes`` is its user capacity.

    ``health`` makes up what its log says at a part and number.
    """

    capacity_bytes: int
    iops: Rate
    health: Health = lambda _phase, _number: HealthReading("made up")

    def play(self, script: Script) -> Played:
        """Carry out a script to its end."""
        played = Played()
        cycle = 0
        answer: Answer = None
        while True:
            try:
                request = script.send(answer)
            except StopIteration:
                return played
            played.requests.append(request)
            answer = None
            if isinstance(request, Purge):
                cycle += 1
            elif isinstance(request, ReadHealth):
                answer = self.health(request.phase, request.number)
            elif isinstance(request, Apply):
                samples = tuple(self.sample(request.phase, request.number, step) for step in request.steps)
                played.applied += [
                    Applied(cycle, request.phase, request.number, sample.step, sample.elapsed_ns)
                    for sample in samples
                ]
                answer = samples

    def sample(self, phase: Phase, number: int, step: Step) -> Sample:
        """What a step gives, on the spot."""
        if len(step.streams) > 1:
            return self._of_streams(phase, number, step)
        if step.stimulus is None:
            assert isinstance(step.stop, Duration), f"idle until {step.stop}"
            return _made(step, step.stop.duration_ns, "duration", NOTHING, NOTHING)
        stimulus = step.stimulus
        iops = Fraction(self.iops(stimulus, phase, number))
        assert iops > 0
        stop = step.streams[0].stop if step.stop == STREAMS_END else step.stop
        assert stop is not None
        elapsed_s, ended_by = self._end(stop, iops, mean_block_bytes(stimulus))
        # an amount is reached or exceeded by less than an I/O, as with the engines
        ios = math.ceil(iops * elapsed_s) if ended_by == "amount" else round(iops * elapsed_s)
        shares = stimulus.operations
        latency_ns = stimulus.toio * NS_PER_S / iops
        if not shares.read + shares.write:
            trims = _operation(ios, mean_block_bytes(stimulus), latency_ns)
            return _made(step, round(elapsed_s * NS_PER_S), ended_by, NOTHING, NOTHING, trims)
        reads = round(Fraction(ios * shares.read, shares.read + shares.write))
        return _made(
            step,
            round(elapsed_s * NS_PER_S),
            ended_by,
            _operation(reads, mean_block_bytes(stimulus), latency_ns),
            _operation(ios - reads, mean_block_bytes(stimulus), latency_ns),
        )

    def _of_streams(self, phase: Phase, number: int, step: Step) -> Sample:
        """Streams of one operation each, at the rates at which they are planned, or in their shares."""
        if step.stop == STREAMS_END:
            return self._of_amounts(phase, number, step)
        assert isinstance(step.stop, Duration)
        found = {}
        shares = sum(stream.share for stream in step.streams)
        for stream in step.streams:
            stimulus = stream.stimulus
            if stream.share:
                per_s = float(self.iops(stimulus, phase, number)) * stream.share / shares
            else:
                per_s = self._paced(stimulus) or float(self.iops(stimulus, phase, number))
            planned = round(per_s * step.stop.duration_ns / NS_PER_S)
            latency_ns = stimulus.toio * NS_PER_S / Fraction(self.iops(stimulus, phase, number))
            (name,) = (name for name in ("read", "write", "trim") if getattr(stimulus.operations, name))
            found[name] = _operation(planned, mean_block_bytes(stimulus), latency_ns)
        return _made(
            step,
            step.stop.duration_ns,
            "duration",
            *(found.get(name, NOTHING) for name in ("read", "write", "trim")),
        )

    def _of_amounts(self, phase: Phase, number: int, step: Step) -> Sample:
        """Streams of writes in turns, each with an amount of its own, one after the other."""
        blocks = {mean_block_bytes(stream.stimulus) for stream in step.streams}
        (block_bytes,) = blocks
        stimulus, ios = step.streams[0].stimulus, 0
        for stream in step.streams:
            assert isinstance(stream.stop, ByteAmount)
            assert stream.stimulus.operations == OperationWeights(write=100)
            ios += math.ceil(stream.stop.amount_bytes / block_bytes)
        iops = Fraction(self.iops(stimulus, phase, number))
        writes = _operation(ios, block_bytes, stimulus.toio * NS_PER_S / iops)
        return _made(step, round(ios / iops * NS_PER_S), "amount", NOTHING, writes)

    @staticmethod
    def _paced(stimulus: Stimulus) -> float | None:
        return stimulus.pacing.per_s if isinstance(stimulus.pacing, Capped) else stimulus.planned_ios_per_s

    def _end(self, stop: StopRule, iops: Fraction, block_bytes: Fraction) -> tuple[Fraction, str]:
        match stop:
            case Duration(duration_ns):
                return Fraction(duration_ns, NS_PER_S), "duration"
            case ByteAmount(amount_bytes):
                return amount_bytes / (iops * block_bytes), "amount"
            case DriveFills(fills):
                return Fraction(fills) * self.capacity_bytes / (iops * block_bytes), "amount"
            case IoCount(ios):
                return ios / iops, "amount"
            case FirstOf(rules, at_least_ns):
                first_s, name = min(self._end(rule, iops, block_bytes) for rule in rules)
                return max(Fraction(at_least_ns, NS_PER_S), first_s), name
            case _:
                raise AssertionError(f"no script judges steady state inside a step: {stop}")


def mean_block_bytes(stimulus: Stimulus) -> Fraction:
    """Bytes of an I/O, on the average of the mix."""
    total = sum(size.weight for size in stimulus.block_sizes)
    return Fraction(sum(size.block_size_bytes * size.weight for size in stimulus.block_sizes), total)


def _operation(ios: int, block_bytes: Fraction, latency_ns: Fraction) -> OperationSample:
    if not ios:
        return NOTHING
    whole_ns = round(latency_ns)
    return OperationSample(
        ios=ios,
        bytes=math.ceil(ios * block_bytes),
        latency_sum_ns=round(ios * latency_ns),
        latency_min_ns=whole_ns,
        latency_max_ns=whole_ns,
        histogram=_encoded(whole_ns, ios),
    )


@cache
def _encoded(latency_ns: int, ios: int) -> bytes:
    return encode_counts([(latency_ns, ios)])


def _made(
    step: Step,
    elapsed_ns: int,
    ended_by: str,
    read: OperationSample,
    write: OperationSample,
    trim: OperationSample = NOTHING,
) -> Sample:
    return sample_of(
        step, ended_by=ended_by, elapsed_ns=elapsed_ns, gap_ns=None, read=read, write=write, trim=trim
    )


def lines(played: Played, capacity_bytes: int) -> list[str]:
    """What was asked for, as the tables say it."""
    applied = iter(played.applied)
    written: list[str] = []
    for request in played.requests:
        match request:
            case Purge():
                written.append("purge")
            case SetWriteCache(enabled):
                written.append(f"write cache {'enabled' if enabled else 'disabled'}")
            case Apply(phase, number, steps) if phase in _MAY_BE_CUT:
                pieces = [next(applied) for _ in steps]
                _add_whole(written, f"{phase} {number}", pieces, capacity_bytes)
            case Apply(phase, number, steps):
                for _ in steps:
                    line = f"{phase} {number}: {_step(next(applied), capacity_bytes)}"
                    if phase is not Phase.SATURATION or not _goes_on(written, line):
                        written.append(line)
    return written


def _add_whole(written: list[str], place: str, pieces: Iterable[Applied], capacity_bytes: int) -> None:
    """Add pieces of one stimulus to the line before, if that is of the same place and stimulus."""
    for piece in pieces:
        assert isinstance(piece.step.stop, Duration), f"{place} ends by {piece.step.stop}"
        line = f"{place}: {_step(piece, capacity_bytes)}"
        captured = ", captured" if piece.step.capture else ""
        stimulus, length = _stimulus_and_length(line)
        before = _stimulus_and_length(written[-1])
        if before[0] == stimulus and piece.step.capture == written[-1].endswith("captured"):
            written[-1] = f"{stimulus}, {duration_text(before[1] + length)}{captured}"
        else:
            written.append(line)


def _goes_on(written: list[str], line: str) -> bool:
    """Add a piece to the line before, if both lie between the same two tracked minutes."""
    (stimulus, length), before = _stimulus_and_length(line), _stimulus_and_length(written[-1])
    whole_s = before[1] + length
    if before[0] != stimulus or whole_s > _BETWEEN_TRACKED_MINUTES_S:
        return False
    written[-1] = f"{stimulus}, {duration_text(whole_s)}"
    return True


def _stimulus_and_length(line: str) -> tuple[str, float]:
    stimulus, _, length = line.removesuffix(", captured").rpartition(", ")
    return stimulus, float(length.removesuffix(" s")) if length.endswith(" s") else 0


def _step(applied: Applied, capacity_bytes: int) -> str:
    step = applied.step
    others = ", captured" * step.capture + f", ramp of {step.ramp_ns} ns" * bool(step.ramp_ns)
    # the rule itself, but of the saturating stimulus where it ended: its steps share out a whole
    length = (
        duration_text(applied.elapsed_ns / NS_PER_S)
        if applied.phase is Phase.SATURATION
        else _stop(step.stop, capacity_bytes)
    )
    return f"{'idle' if step.stimulus is None else _stimulus(step.stimulus)}, {length}{others}"


def _stimulus(stimulus: Stimulus) -> str:
    order = {0: "SEQ", 100: "RND"}.get(stimulus.random_pct, f"{stimulus.random_pct} % RND")
    total = sum(size.weight for size in stimulus.block_sizes)
    operations = stimulus.operations
    transfers = operations.read + operations.write
    unit = Fraction(100, transfers)
    zones = stimulus.placement.zones if isinstance(stimulus.placement, Zones) else ()
    weights = sum(zone.weight for zone in zones)
    text = stimulus_text(
        order,
        {
            Fraction(size.block_size_bytes, KIB): Fraction(100 * size.weight, total)
            for size in stimulus.block_sizes
        },
        f"{float(operations.read * unit):g}/{float(operations.write * unit):g}",
        (stimulus.tc, stimulus.qd),
        (stimulus.active_range.start_pct, stimulus.active_range.end_pct),
        [(100 * zone.weight / weights, zone.range_pct) for zone in zones],
    )
    plain = {
        "trim": operations.trim == 0,
        "flush": operations.flush == operations.fsync == 0,
        "places": isinstance(stimulus.placement, Uniform | Zones),
        "alignment": stimulus.alignment_bytes is None,
        "stride": stimulus.stride_bytes is None,
        "pacing": stimulus.pacing == ClosedLoop(),
        "data": stimulus.data == RandomData(),
    }
    return text + "".join(f", odd {name}" for name, as_specified in plain.items() if not as_specified)


def _stop(stop: StopRule, capacity_bytes: int) -> str:
    match stop:
        case Duration(duration_ns):
            return duration_text(duration_ns / NS_PER_S)
        case ByteAmount(amount_bytes):
            return f"{amount_bytes / capacity_bytes:g} x user capacity"
        case DriveFills(fills):
            return f"{fills:g} x user capacity"
        case FirstOf(rules, at_least_ns):
            # time before amount, so that a line does not depend on the order of rules that are equal
            in_order = sorted(rules, key=lambda rule: not isinstance(rule, Duration))
            least = f", at least {duration_text(at_least_ns / NS_PER_S)}" if at_least_ns else ""
            return " or ".join(_stop(rule, capacity_bytes) for rule in in_order) + least
        case _:
            return str(stop)
