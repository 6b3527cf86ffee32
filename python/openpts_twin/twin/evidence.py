"""What runs of one drive show of it: their steps in order, each with what was measured.

Of a run that repeats the same steps in many rounds, the first rounds are enough.
"""

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.errors import UsageError
from openpts.procedures.kit.host_limits import limited_steps
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import OperationWeights, Step
from openpts.vocabulary.stop import ByteAmount, DriveFills
from openpts_twin.findings import Finding, findings_in
from openpts_twin.xray import XrayConditions

Figures = Mapping[str, float]
"""Of a step, by name: ``rate``, of an operation such as ``read p99``, of a part of the step ``rate 3``."""

PERCENTILES: Final = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}
# so many times the I/Os without which a percentile can't be stated: below, its own scatter is what is seen
_TAILS: Final = 10
_ROUNDS: Final = 1
_OFF: Final = "WCD"
# a step that writes a good part of the drive shows the end of caches, and the beginning of collection
_LONG_FILLS: Final = 0.5
PARTS: Final = 24


class Part(Struct, frozen=True):
    """Steps on a drive that was purged before, with what was measured in each.

    ``cached``: its volatile write cache was not switched off.
    """

    test: str
    cached: bool
    steps: tuple[Step, ...]
    measured: tuple[Figures, ...]


class Evidence(Struct, frozen=True):
    """All that is known of a drive. ``scale`` is that of a simulated one, 1 of a real one.

    ``findings`` are those of an x-ray.
    """

    drive: str
    capacity_bytes: int
    sector_bytes: int
    scale: int
    runs: tuple[str, ...]
    parts: tuple[Part, ...]
    findings: tuple[Finding, ...] = ()

    def steps(self, *, cached: bool = False) -> Iterator[tuple[Step, Figures]]:
        """Every step with its figures, or only those with the write cache on."""
        for part in self.parts:
            if part.cached or not cached:
                yield from zip(part.steps, part.measured, strict=True)


def evidence_of(runs: Sequence[Run]) -> Evidence:
    """What runs show. Raises UsageError for runs of several drives, or with nothing to fit to."""
    first = runs[0].manifest
    for run in runs:
        if (found := _drive(run.manifest)) != _drive(first):
            raise UsageError(
                f"{run.folder} is of another drive than {runs[0].folder} ({found}, {_drive(first)}): "
                "fit each drive by itself"
            )
    target = first.target
    every = [part for run in runs if not _is_xray(run) for part in _parts(run)]
    parts = _with_fewer_fills(every, target.user_capacity_bytes)
    if not any(figures for part in parts for figures in part.measured):
        folders = ", ".join(str(run.folder) for run in runs)
        raise UsageError(f"no step in {folders} has figures of the drive: not ended, or limited by the host")
    return Evidence(
        drive=_drive(first),
        capacity_bytes=target.user_capacity_bytes,
        sector_bytes=target.sector_bytes,
        scale=target.scale,
        runs=tuple(f"{run.manifest.conditions.test} in {run.folder.name}" for run in runs),
        parts=parts,
        findings=tuple(
            one
            for run in runs
            if _is_xray(run)
            for one in findings_in(procedure_of(run.manifest.conditions.test).report(run).figures())
        ),
    )


def _is_xray(run: Run) -> bool:
    """Whether its steps are for the finders of an x-ray, which know them better than a replay does."""
    return isinstance(run.manifest.conditions, XrayConditions)


def _drive(manifest: Manifest) -> str:
    """The drive in words: two drives differ in them."""
    target = manifest.target
    if target.simulation is not None:
        return f"{target.path.partition('?')[0]} ({target.simulation.preset}), scale {target.scale}"
    facts = manifest.dut
    words = [str(facts[name].value) for name in ("model", "serial", "firmware") if name in facts]
    return f"{' '.join(words) or target.name}, {target.user_capacity_bytes} bytes"


def _parts(run: Run) -> Iterator[Part]:
    test = str(run.manifest.conditions.test)
    capacity, limited = run.manifest.target.user_capacity_bytes, limited_steps(run)
    for _, cycle in groupby(run.steps, key=lambda step: step.place.cycle):
        steps = [step for step in takewhile(_counts, cycle) if step.sample.state is StepState.COMPLETE]
        if steps:
            measured = tuple(
                {} if step.place in limited else figures_of(step.sample, capacity) for step in steps
            )
            number = steps[0].place.cycle
            caches = [cache.actual for cache in run.manifest.write_caches]
            cached = _OFF not in caches[number - 1 : number]
            yield Part(test, cached, tuple(step.sample.step for step in steps), measured)


def _with_fewer_fills(parts: Sequence[Part], capacity_bytes: int) -> tuple[Part, ...]:
    """The parts; what writes nothing at random comes right behind another's fill, which is as its own."""
    found: list[Part] = []
    for part in sorted(parts, key=lambda part: not _writes_at_random(part.steps)):
        fill = None if _writes_at_random(part.steps) else _fill(part, capacity_bytes)
        for number, one in enumerate(found):
            if fill and _fill(one, capacity_bytes) == fill:
                found[number] = _behind_fill(one, part)
                break
        else:
            found.append(part)
    return tuple(found)


def _behind_fill(part: Part, other: Part) -> Part:
    """A part with the steps of another behind its fill."""
    return Part(
        ", ".join(dict.fromkeys([*part.test.split(", "), other.test])),
        part.cached,
        (part.steps[0], *other.steps[1:], *part.steps[1:]),
        (part.measured[0], *other.measured[1:], *part.measured[1:]),
    )


def _fill(part: Part, capacity_bytes: int) -> tuple[object, ...] | None:
    """What a part begins with, where it writes the drive once or more in sequence: how data lie then."""
    stimulus = part.steps[0].stimulus
    if stimulus is None or stimulus.random_pct or stimulus.operations != OperationWeights(write=100):
        return None
    fills = fills_of(part.steps[0], capacity_bytes)
    # each thread writes a sequence of its own
    return (
        (part.cached, stimulus.active_range, stimulus.tc, round(fills, 3)) if fills and fills >= 1 else None
    )


def fills_of(step: Step, capacity_bytes: int) -> float | None:
    """How many times the capacity a step moves; None where time ends it."""
    match step.stop:
        case ByteAmount(amount_bytes):
            return amount_bytes / capacity_bytes
        case DriveFills(fills):
            return fills
        case _:
            return None


def _writes_at_random(steps: Sequence[Step]) -> bool:
    return any(
        stimulus.changes_target and stimulus.random_pct > 0 for step in steps for stimulus in step.stimuli
    )


def _counts(step: StepRecord) -> bool:
    """Whether a step is among those that are enough; what comes after the first that is not is left out."""
    return step.place.phase is not Phase.ROUND or step.place.number <= _ROUNDS


def figures_of(sample: Sample, capacity_bytes: int) -> Figures:
    """Rates and response times of a step (ns); nothing of an idle gap."""
    if not sample.ios or not sample.elapsed_ns:
        return {}
    found = {"rate": sample.iops}
    for name, operation in (("read", sample.read), ("write", sample.write)):
        if not operation.ios or not operation.histogram:
            continue
        found[f"{name} mean"] = operation.latency_sum_ns / operation.ios
        distribution = LatencyDistribution.merged([operation.histogram])
        for label, value_ns in percentiles_ns(distribution):
            found[f"{name} {label}"] = float(value_ns)
    if sample.write.bytes > _LONG_FILLS * capacity_bytes and len(sample.intervals) > 2 * PARTS:
        found.update(_course(sample))
    return found


def percentiles_ns(distribution: LatencyDistribution) -> Iterator[tuple[str, int]]:
    """Percentiles that as many I/Os tell well, by name."""
    for label, percentile in PERCENTILES.items():
        value_ns = distribution.percentile_ns(percentile)
        if value_ns and distribution.count >= _TAILS * ios_needed(percentile):
            yield label, value_ns


def _course(sample: Sample) -> Figures:
    """The rate in parts of the step, short ones at its beginning: there caches end."""
    found: dict[str, float] = {}
    ends = [share_until(part + 1) * sample.bytes * (1 - 1e-6) for part in range(PARTS)]
    number, elapsed_ns, moved, total = 0, 0, 0, 0
    for interval in sample.intervals:
        elapsed_ns += interval.elapsed_ns
        moved += interval.bytes
        total += interval.bytes
        if elapsed_ns and number < PARTS and total >= ends[number]:
            found[f"rate {number}"] = moved / elapsed_ns
            number, elapsed_ns, moved = bisect(ends, total), 0, 0
    return found


def share_until(part: int) -> float:
    """The share of a long step's bytes before a part of its course."""
    return (part / PARTS) ** 2
