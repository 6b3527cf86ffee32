"""The stimuli and streams that a run's results are made of: each has rates and response times."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from openpts.analysis.rounds import measurement_window, test_point
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import NOTHING, Measured, StepState

_JUDGED: Final = frozenset(
    {Phase.ROUND, Phase.HISTOGRAM, Phase.PROFILE, Phase.LOAD, Phase.SWEEP, Phase.SATURATION}
)
_OPERATIONS: Final = ("read", "write", "trim")


def parts_of(run: Run) -> Iterator[tuple[StepRecord, str, Measured, bool]]:
    """Step, name and figures of each stimulus and stream that results are made of, and whether it is of a
    round.
    """
    for step, is_round in _steps_of(run):
        place, sample = step.place, step.sample
        prefix = "" if is_round else f"{place.phase} {place.number} "
        for name, part in _named(step):
            yield step, f"{prefix}{name}", part, is_round
            done = [one for one in _OPERATIONS if part.operations[one].ios]
            for operation in done if len(done) > 1 or sample.streams else ():
                yield step, f"{prefix}{name} {operation}", _alone(part, operation), is_round
        if len(sample.streams) > 1:
            yield step, f"{prefix}all", sample, is_round


def _named(step: StepRecord) -> Iterator[tuple[str, Measured]]:
    sample = step.sample
    if (point := test_point(sample.step.stimulus)) is not None:
        yield str(point), sample
    parts: Sequence[Measured] = sample.streams or (sample,)
    for number, (stream, part) in enumerate(zip(sample.step.streams, parts, strict=False), start=1):
        if stream.name or len(sample.step.streams) > 1:
            yield stream.name or f"stream {number}", part


def _alone(part: Measured, operation: str) -> Measured:
    return Measured(read=part.operations[operation], write=NOTHING, elapsed_ns=part.elapsed_ns, cpu=None)


def _steps_of(run: Run) -> Iterator[tuple[StepRecord, bool]]:
    steps = [
        step for step in run.steps if step.place.phase in _JUDGED and step.sample.state is StepState.COMPLETE
    ]
    rounds = defaultdict[int, set[int]](set)
    for step in steps:
        if step.place.phase is Phase.ROUND:
            rounds[step.place.cycle].add(step.place.number)
    windows = {cycle: _window(run, len(numbers), cycle) for cycle, numbers in rounds.items()}
    for step in steps:
        is_round = step.place.phase is Phase.ROUND
        if not is_round or step.place.number in windows[step.place.cycle]:
            yield step, is_round


def _window(run: Run, rounds: int, cycle: int) -> tuple[int, ...]:
    """The rounds of the measurement window of a cycle that has so many."""
    cycles = run.manifest.cycles
    steady_round = cycles[cycle - 1].outcome.steady_round if cycle <= len(cycles) else None
    return measurement_window(rounds, steady_round).rounds
