"""Joins the witnesses: each slow I/O of a run with its cause."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.sample import SlowIo
from openpts_nvme.outliers.around import Surroundings
from openpts_nvme.outliers.causes import Cause, MonitorInterval, Outlier
from openpts_nvme.outliers.monitor import comparisons_of
from openpts_nvme.outliers.rules import Witnessed, cause_of


class JudgedOutliers(Struct, frozen=True):
    """All slow I/Os of a run by time, and what the drive's own monitor says of the same time."""

    outliers: tuple[Outlier, ...]
    comparisons: tuple[MonitorInterval, ...]

    @property
    def by_cause(self) -> Mapping[Cause, list[Outlier]]:
        """Outliers of each cause that there is, in the order of ``Cause``."""
        found = {cause: [one for one in self.outliers if one.cause is cause] for cause in Cause}
        return {cause: some for cause, some in found.items() if some}

    @property
    def hides(self) -> str:
        """What the drive's monitor leaves out, as a sentence; empty if nothing for certain."""
        hidden = sum(one.hidden for one in self.comparisons)
        lacks = f"of the I/Os that it had alone its latency monitor lacks {hidden:,}"
        return f"The drive hides outliers: {lacks}." if hidden else ""


def judged(run: Run) -> JudgedOutliers:
    """Every slow I/O of the record with its cause."""
    surroundings = Surroundings.of(run)
    witnessed = [
        (step, Witnessed(slow, surroundings.around(slow, step)))
        for step in run.steps
        for slow in step.sample.slow_ios
    ]
    alone = [one.slow for _, one in witnessed if one.drive_had_it_alone]
    comparisons = tuple(
        replace(one, hidden=one.lacking(alone)) for one in comparisons_of(run.health, run.steps)
    )
    return JudgedOutliers(tuple(_outliers(witnessed, comparisons)), comparisons)


def _outliers(
    witnessed: Sequence[tuple[StepRecord, Witnessed]], comparisons: Sequence[MonitorInterval]
) -> Iterator[Outlier]:
    for step, one in witnessed:
        cause, evidence = cause_of(replace(one, drive_denies=_denies(comparisons, one.slow)))
        yield Outlier(step=str(step.place), io=one.slow, cause=cause, evidence=evidence)


def _denies(comparisons: Sequence[MonitorInterval], slow: SlowIo) -> bool | None:
    return next((denies for one in comparisons if (denies := one.denies(slow)) is not None), None)
