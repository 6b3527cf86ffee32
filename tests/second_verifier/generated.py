"""Runs of the eight tests on drives that were drawn: level, drifting, restless; each from its seed alone.

The test's own script plays on them, so that it decides itself when to stop; their records agree with
themselves, as those of a drive do. They differ where runs of a simulated drive hardly do: lengths of steps,
tails, few I/Os, an early end.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run, StepRecord
from openpts.record.writer import RunWriter
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample, StepState
from openpts.vocabulary.stimulus import Duration, Step, Stimulus
from tests.support.interval_samples import in_turn, interval_of, operation_of
from tests.support.made_up_run import CAPACITY_BYTES, ended_after, made_up_run, with_samples
from tests.support.player import Drive

TESTS: Final = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")
_LOOPS: Final = (Phase.ROUND, Phase.WDPC)
_IDLE_GAIN: Final = 0.3
_FEW: Final = 1000


class DrawnDrive(Drive, frozen=True, kw_only=True):
    """Settles, drifts and is restless as it was drawn; ``interval_ns`` 0 keeps no intervals."""

    draw: random.Random
    begins: float  # of the settled rate, in round 1
    settles: float  # rounds
    drift: float  # share of a round
    noise: float
    late: float  # share by which a step may take longer than it should
    troubles: random.Random  # apart, so that a run without them is the same
    silent: float  # share of the steps with a length in which nothing is answered
    interval_ns: int = 0

    def rate_of(self, stimulus: Stimulus, phase: Phase, number: int) -> float:
        """IOPS of a step, drawn around those of its round."""
        size = min(one.block_size_bytes for one in stimulus.block_sizes)
        level = 1e8 * (2 - stimulus.random_pct / 200) / (size + 30_000) * (1 + stimulus.operations.read / 100)
        level *= 1 - math.exp(-stimulus.toio / 12)
        trend = 1 + (self.begins - 1) * math.exp(-(number - 1) / self.settles) + self.drift * (number - 1)
        gain = 1 + _IDLE_GAIN * (phase is Phase.WAIT_STATE)
        return max(2.0, level * gain * max(0.05, trend) * (1 + self.draw.gauss(0, self.noise)))

    def sample(self, phase: Phase, number: int, step: Step) -> Sample:
        """What a step gives, of its own length, with a tail; now and then nothing."""
        if step.stimulus is None:
            return super().sample(phase, number, step)
        found = self._active(phase, number, step)
        is_silent = isinstance(step.stop, Duration) and self.troubles.random() < self.silent
        return _silent(found) if is_silent else found

    def _active(self, phase: Phase, number: int, step: Step) -> Sample:
        assert step.stimulus is not None
        stimulus = step.stimulus
        rate = Fraction(round(self.rate_of(stimulus, phase, number)))
        plain = replace(self, iops=lambda *_: rate)
        sample = Drive.sample(plain, phase, number, step)
        elapsed_ns = sample.elapsed_ns
        if isinstance(step.stop, Duration) and self.late:
            elapsed_ns += self.draw.randrange(1 + int(self.late * elapsed_ns))
        interval_ns = self.interval_ns or elapsed_ns
        ends_ns = [*range(interval_ns, elapsed_ns, interval_ns), elapsed_ns]
        weights = [
            self.draw.uniform(0.8, 1.2) * (end_ns - i * interval_ns) for i, end_ns in enumerate(ends_ns)
        ]
        # at most what can be outstanding (Little's law), for reads and writes together
        middle_ns = 0.4 * stimulus.toio * elapsed_ns / (sample.read.ios + sample.write.ios)
        parts: dict[str, list[OperationSample]] = {}
        wholes: dict[str, OperationSample] = {}
        for name in ("read", "write"):
            of = getattr(sample, name)
            tails = [self._tail(ios, middle_ns, interval_ns) for ios in _dealt(weights, of.ios)]
            block = of.bytes // max(1, of.ios)
            parts[name] = [operation_of(tail, block) for tail in tails]
            wholes[name] = operation_of([one for tail in tails for one in tail], block)
        sample = replace(sample, elapsed_ns=elapsed_ns, **wholes)
        if not self.interval_ns:
            return sample
        intervals = tuple(
            interval_of(
                index,
                elapsed_ns=end_ns - index * interval_ns,
                read=parts["read"][index],
                write=parts["write"][index],
            )
            for index, end_ns in enumerate(ends_ns)
        )
        return replace(sample, interval_ns=interval_ns, intervals=intervals)

    def _tail(self, ios: int, middle_ns: float, longest_ns: int) -> list[tuple[int, int]]:
        """Response times with their I/Os: most near the middle, few far above it."""
        found, left = [], ios
        for share, factor in _TAIL:
            some = min(left, round(ios * share * self.draw.uniform(0.5, 1.5)))
            left -= some
            if some:
                found.append((_whole(middle_ns * factor * self.draw.uniform(0.8, 1.2), longest_ns), some))
        return [*found, (_whole(middle_ns / 2, longest_ns), left)] if left else found


_TAIL: Final = ((0.7, 0.6), (0.25, 1.1), (0.04, 1.8), (9e-3, 3.0), (9e-4, 8.0), (9e-5, 12.0), (8e-6, 30.0))


def _whole(latency_ns: float, longest_ns: int) -> int:
    return max(1, min(longest_ns, round(latency_ns)))


def generated_run(seed: int, test: str = "") -> Run:
    """A run of a test, of the seed's own choice unless named; then it has steps without an answer, too."""
    draw, troubles, is_drawn = random.Random(seed), random.Random(f"troubles-{seed}"), not test
    test = test or draw.choice(TESTS)
    drive_class = draw.choice(list(DriveClass))
    minute_ns = 60 * NS_PER_S
    drive = DrawnDrive(
        CAPACITY_BYTES,
        lambda *_: 1,
        draw=draw,
        begins=draw.choice((1.0, 1.1, 1.5, 3.0)),
        settles=draw.choice((0.5, 2.0, 6.0)),
        drift=draw.choice((0.0, 0.0, 0.024, 0.025, 0.026, -0.02, 0.05)),
        noise=draw.choice((0.0, 0.01, 0.04, 0.06, 0.1)),
        late=draw.choice((0.0, 0.001, 0.03, 0.5)),
        troubles=troubles,
        silent=troubles.choice((0.0, 0.0, 0.01, 0.1)) if is_drawn else 0.0,
        interval_ns=draw.choice((minute_ns, minute_ns // 2, minute_ns // 3))
        if test in ("wsat", "xsr")
        else 0,
    )
    run = made_up_run(test, drive_class, drive=drive, adjust=lambda conditions: _shorter(conditions, draw))
    run = with_samples(run, lambda step: _counted(step.sample))
    samples = in_turn(*(step.sample for step in run.steps))
    placed = zip(_placed(run.steps), samples, strict=True)
    run = replace(run, steps=tuple(replace(step, sample=sample) for step, sample in placed))
    if draw.random() < 0.25:
        last = run.steps[draw.randrange(1, len(run.steps))]
        run = ended_after(run, last.behind, None)
        if (
            is_drawn
            and troubles.random() < 0.5
            and last.sample.ios > _FEW
            and last.place.cycle <= run.steps[-1].place.cycle
        ):
            run = replace(run, steps=(*run.steps, replace(last, sample=_begun(last.sample))))
    return replace(run, manifest=replace(run.manifest, test_id=f"generated-{seed}"))


def _silent(sample: Sample) -> Sample:
    intervals = tuple(replace(one, read=NOTHING, write=NOTHING) for one in sample.intervals)
    counts = {name: tuple(0 for _ in getattr(sample, name)) for name in ("ios_by_block_size", "ios_by_zone")}
    return replace(sample, read=NOTHING, write=NOTHING, intervals=intervals, **counts)


def _begun(sample: Sample) -> Sample:
    """What is there of a step that was interrupted in its first interval: the quicker ones of its I/Os."""
    elapsed_ns = min(sample.elapsed_ns // 3, sample.interval_ns)
    parts = {
        name: operation_of(
            [(of.latency_min_ns or 1, some)] if (some := of.ios * elapsed_ns // sample.elapsed_ns) else [],
            of.bytes // max(1, of.ios),
        )
        for name, of in (("read", sample.read), ("write", sample.write))
    }
    intervals = [replace(one, elapsed_ns=elapsed_ns, **parts) for one in sample.intervals[:1]]
    return _counted(
        replace(
            sample,
            state=StepState.INTERRUPTED,
            ended_by=None,
            elapsed_ns=elapsed_ns,
            intervals=tuple(intervals),
            **parts,
        )
    )


def _placed(steps: Sequence[StepRecord]) -> Iterator[StepRecord]:
    """Each step with its position among all of its number, as the runner counts them."""
    before: Counter[tuple[int, Phase, int]] = Counter()
    for step in steps:
        key = (step.place.cycle, step.place.phase, step.place.number)
        yield replace(step, place=replace(step.place, position=before[key]))
        before[key] += 1


def _shorter(conditions: Conditions, draw: random.Random) -> Conditions:
    """Fewer test points and fewer rounds: the rules are the same."""
    changes: dict[str, Any] = {}
    if hasattr(conditions, "max_rounds"):
        changes["max_rounds"] = draw.choice((5, 6, 8, 12, 25))
    if hasattr(conditions, "tcs"):
        changes |= {"tcs": (32, 8, 2, 1), "qds": draw.choice(((32, 4, 1), (32, 16, 1)))}
        changes["mid_points"] = draw.choice((1, 1, 2))
    if conditions.test == "iops":
        changes |= {"read_pcts": (100, 65, 0), "block_sizes_bytes": (1024 * KIB, 64 * KIB, 4 * KIB)}
    if conditions.test == "hir":
        changes["cycles"] = draw.choice((2, 4))
    if conditions.test == "wsat":
        changes |= {
            "drive_fills": draw.choice((2, 4, 40)),
            "steady_after_drive_fills": draw.choice((1, 2)),
            "stop_when_steady": draw.choice((False, True)),
        }
    if conditions.test == "xsr":
        hour_ns = 3600 * NS_PER_S
        groups = getattr(conditions, "groups", ())
        changes["groups"] = tuple(replace(one, duration_ns=draw.choice((1, 2)) * hour_ns) for one in groups)
    return replace(conditions, **changes)


def _counted(sample: Sample) -> Sample:
    """Counts by size and zone that follow the weights as far as whole I/Os do."""
    if not sample.ios_by_block_size:
        return sample
    ios = sample.read.ios + sample.write.ios
    if not ios:
        return _silent(sample)
    by_size = _dealt(sample.ios_by_block_size, ios)
    assert sample.step.stimulus is not None
    sizes = [one.block_size_bytes for one in sample.step.stimulus.block_sizes]
    moved = sum(some * size for some, size in zip(by_size, sizes, strict=True))
    read_bytes = moved * sample.read.ios // ios // KIB * KIB
    return replace(
        sample,
        ios_by_block_size=by_size,
        ios_by_zone=_dealt(sample.ios_by_zone, ios),
        read=replace(sample.read, bytes=read_bytes),
        write=replace(sample.write, bytes=moved - read_bytes),
    )


def _dealt(weights: Sequence[float], ios: int) -> tuple[int, ...]:
    """Whole I/Os in these shares, which add up."""
    ends = [round(ios * upto / sum(weights)) for upto in accumulate(weights)]
    return tuple(end - begin for begin, end in pairwise([0, *ends[:-1], ios]))


def write_run(run: Run, folder: Path) -> Path:
    """The run as a folder with its record: of some, as if they had been interrupted and resumed."""
    writer, draw = RunWriter.create(folder, run.manifest), random.Random(run.manifest.test_id)
    cut = draw.randrange(len(run.steps)) if draw.random() < 0.3 else 0
    for step in run.steps[:cut]:
        writer.add_step(step.place, step.sample)
    if cut and run.steps[cut].sample.ios > _FEW:
        writer.add_step(run.steps[cut].place, _begun(run.steps[cut].sample))
    kept = draw.randrange(cut + 1)
    writer.set_aside_after(kept, ())
    for step in run.steps[kept:]:
        writer.add_step(step.place, step.sample)
    writer.close()
    return folder
