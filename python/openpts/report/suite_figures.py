"""The few figures of a run by which one knows a drive again: those of a suite's index."""

from collections.abc import Iterator, Sequence
from typing import Final

from openpts.analysis.round_test import analyse_round_test
from openpts.record.reader import Run, StepRecord
from openpts.units import KIB, MB, NS_PER_S, format_latency_ms
from openpts.vocabulary.conditions import (
    CrossStimulusConditions,
    DemandConditions,
    IdleRecoveryConditions,
    RoundConditions,
    WriteSaturationConditions,
)
from openpts.vocabulary.part import Part, part_text
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stop import SteadyFigure

_SHOWN_READ_PCTS: Final = {0, 65, 100}
_TRACKED: Final = {Part.WDPC: "end of preconditioning", Part.SATURATION: "end of saturation"}


def key_figures(run: Run) -> list[tuple[str, str]]:
    """Name and figure, cycle by cycle; none for what was not measured to its end."""
    found: list[tuple[str, str]] = []
    for cycle in range(1, run.cycle_count + 1):
        found += _of_cycle(run, cycle)
    return found


def _of_cycle(run: Run, cycle: int) -> Iterator[tuple[str, str]]:
    match run.manifest.conditions:
        case RoundConditions() as conditions:
            yield from _rounds(run, conditions, cycle)
        case WriteSaturationConditions():
            yield from _last_minute(run, Part.SATURATION, cycle)
        case IdleRecoveryConditions():
            yield from _last_minute(run, Part.WDPC, cycle)
            yield from _wait_states(run, cycle)
        case CrossStimulusConditions():
            yield from _groups(run, cycle)
        case DemandConditions() as conditions:
            yield from _demand(run, conditions, cycle)
    yield from _histograms(run, cycle)


def _rounds(run: Run, conditions: RoundConditions, cycle: int) -> Iterator[tuple[str, str]]:
    steps = run.part(Part.ROUND, cycle=cycle)
    sizes = {s.block_size_bytes for s in (step.sample.step.stimulus for step in steps) if s is not None}
    finished = run.manifest.cycles[cycle - 1 : cycle]
    results = analyse_round_test(
        conditions,
        [(step.place.number, step.sample) for step in steps],
        finished[0].outcome.steady_round if finished else None,
        tuple(size for size in conditions.block_sizes_bytes if size in sizes),
    )
    figures = {variable.figure for variable in conditions.tracking}
    for point, cell in results.cells.items():
        if SteadyFigure.THROUGHPUT in figures:
            yield str(point), f"{cell.iops * point.block_size_bytes / MB:,.0f} MB/s"
        elif point.block_size_bytes != 4 * KIB or point.read_pct not in _SHOWN_READ_PCTS:
            continue
        elif SteadyFigure.MEAN_LATENCY in figures:
            yield str(point), "-" if cell.art_ns is None else f"{format_latency_ms(cell.art_ns)} ms"
        else:
            yield str(point), f"{cell.iops:,.0f} IOPS"


def _last_minute(run: Run, part: Part, cycle: int) -> Iterator[tuple[str, str]]:
    if steps := _complete(run.part(part, cycle=cycle)):
        finished = run.manifest.cycles[cycle - 1 : cycle]
        steady = bool(finished) and finished[0].outcome.steady_round is not None
        name = _TRACKED[part] if steady else f"{_TRACKED[part]}, not steady"
        yield name, f"{steps[-1].sample.iops:,.0f} IOPS"


def _wait_states(run: Run, cycle: int) -> Iterator[tuple[str, str]]:
    numbers = dict.fromkeys(step.place.number for step in run.part(Part.WAIT_STATE, cycle=cycle))
    for number in numbers:
        samples = _samples(run.part(Part.WAIT_STATE, cycle=cycle, number=number))
        if busy := [sample for sample in samples if sample.ios]:
            yield part_text(Part.WAIT_STATE, number), f"{_mean_iops(busy):,.0f} IOPS"


def _groups(run: Run, cycle: int) -> Iterator[tuple[str, str]]:
    numbers = dict.fromkeys(step.place.number for step in run.part(Part.ACCESS_GROUP, cycle=cycle))
    for number in numbers:
        samples = _samples(run.part(Part.ACCESS_GROUP, cycle=cycle, number=number))
        elapsed_ns = sum(sample.elapsed_ns for sample in samples)
        if elapsed_ns:
            rate = sum(sample.bytes for sample in samples) / elapsed_ns * NS_PER_S / MB
            yield f"{part_text(Part.ACCESS_GROUP, number)}, {samples[0].step}", f"{rate:,.0f} MB/s"


def _demand(run: Run, conditions: DemandConditions, cycle: int) -> Iterator[tuple[str, str]]:
    wanted = (conditions.precondition_tc, conditions.precondition_qd)
    for step in reversed(_complete(run.part(Part.ROUND, cycle=cycle))):
        stimulus = step.sample.step.stimulus
        if stimulus is not None and (stimulus.tc, stimulus.qd) == wanted:
            yield f"TC {wanted[0]} QD {wanted[1]}, last round", f"{step.sample.iops:,.0f} IOPS"
            return


def _histograms(run: Run, cycle: int) -> Iterator[tuple[str, str]]:
    numbers = dict.fromkeys(step.place.number for step in run.part(Part.HISTOGRAM, cycle=cycle))
    for number in numbers:
        samples = _samples(run.part(Part.HISTOGRAM, cycle=cycle, number=number))
        ios = sum(sample.ios for sample in samples)
        if not ios:
            continue
        art_ns = sum((sample.mean_latency_ns or 0.0) * sample.ios for sample in samples) / ios
        mrt_ns = max(sample.max_latency_ns or 0 for sample in samples)
        latencies = f"ART {format_latency_ms(art_ns)} ms, MRT {format_latency_ms(mrt_ns)} ms"
        yield _histogram_name(run, number, samples[0]), latencies


def _histogram_name(run: Run, number: int, sample: Sample) -> str:
    """CBW and DIRTH have one for each operating point; the others have one."""
    stimulus = sample.step.stimulus
    if not isinstance(run.manifest.conditions, DemandConditions) or stimulus is None:
        return "histogram"
    point = {1: "MaxIOPS", 2: "MinIOPS"}.get(number, "MidIOPS")
    return f"{point}, TC {stimulus.tc} QD {stimulus.qd}"


def _mean_iops(samples: Sequence[Sample]) -> float:
    return sum(s.ios for s in samples) * NS_PER_S / sum(s.elapsed_ns for s in samples)


def _complete(steps: Sequence[StepRecord]) -> list[StepRecord]:
    return [step for step in steps if step.sample.state is StepState.COMPLETE]


def _samples(steps: Sequence[StepRecord]) -> list[Sample]:
    return [step.sample for step in _complete(steps)]
