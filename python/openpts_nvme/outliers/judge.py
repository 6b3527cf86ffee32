"""Joins the witnesses: each slow I/O of a run with its cause."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.sample import SlowIo
from openpts_nvme.outliers.around import Surroundings
from openpts_nvme.outliers.causes import Cause
from openpts_nvme.outliers.monitor import LEAST_NS, Comparison, compared
from openpts_nvme.outliers.rules import Witnessed, cause_of


class Judged(Struct, frozen=True):
    """A slow I/O of a step, its cause, and the evidence in words."""

    step: StepRecord
    slow: SlowIo
    cause: Cause
    evidence: str


class Judgement(Struct, frozen=True):
    """All slow I/Os of a run by time, and what the drive's own monitor says of the same time."""

    outliers: tuple[Judged, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def by_cause(self) -> Mapping[Cause, list[Judged]]:
        """Outliers of each cause that there is, in the order of ``Cause``."""
        found: dict[Cause, list[Judged]] = {}
        for cause in Cause:
            if of_cause := [one for one in self.outliers if one.cause is cause]:
                found[cause] = of_cause
        return found


def judged(run: Run) -> Judgement:
    """Every slow I/O of the record with its cause."""
    surroundings, comparisons = Surroundings.of(run), compared(run)
    return Judgement(tuple(_of_steps(run, surroundings, comparisons)), comparisons)


def _of_steps(run: Run, surroundings: Surroundings, comparisons: tuple[Comparison, ...]) -> Iterator[Judged]:
    for step in run.steps:
        for slow in step.sample.slow_ios:
            denies = None
            if slow.latency_ns >= LEAST_NS:
                denies = next(
                    (denies for one in comparisons if (denies := one.denies(slow)) is not None), None
                )
            told = Witnessed(slow, surroundings.around(slow, step), denies)
            yield Judged(step, slow, *cause_of(told))
