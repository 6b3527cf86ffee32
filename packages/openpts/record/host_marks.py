"""The seconds of a run in which the host was the limit, step by step; judged again whenever it is asked."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from openpts.analysis.limited_seconds import HostLimit, Marks, limits_of, marks_of
from openpts.record.health import TelemetrySeries
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample

Spans = tuple[tuple[int, int], ...]


class StepMarks(Struct, frozen=True):
    """``spans`` are from and to on the engine's clock, those of the step's intervals; ``marks`` are of each:
    None where nothing was sampled. An idle step has none.
    """

    spans: Spans
    marks: tuple[Marks | None, ...]

    @property
    def judged_ns(self) -> int:
        """Time of the step for which host values were sampled, in ns."""
        return sum(
            to_ns - from_ns
            for (from_ns, to_ns), marks in zip(self.spans, self.marks, strict=True)
            if marks is not None
        )

    def evidence(self, limit: HostLimit) -> frozenset[str]:
        """Names of the sampled values that show this limit."""
        names = {name for marks in self.marks for name in marks or ()}
        return frozenset(name for name in names if limit in limits_of(frozenset((name,))))

    def marked_ns(self, limit: HostLimit | None = None) -> int:
        """Time for which the host was the limit by ``limit``, in ns; by any limit for None."""
        return sum(
            to_ns - from_ns
            for (from_ns, to_ns), marks in zip(self.spans, self.marks, strict=True)
            if marks and (limit is None or limit in limits_of(marks))
        )


def step_marks(
    steps: Sequence[Spans], series: Mapping[str, TelemetrySeries], period_s: float | None, *, polling: bool
) -> tuple[StepMarks, ...]:
    """Of each step, in their order. ``polling``: see ``marks_of``."""
    flat = [span for spans in steps for span in spans]
    period_ns = round((period_s or 1) * NS_PER_S)
    marks = iter(marks_of(series, flat, period_ns, polling=polling))
    return tuple(StepMarks(spans, tuple(next(marks) for _ in spans)) for spans in steps)


def spans_of(sample: Sample) -> Spans:
    """From and to of each interval of a step with I/O, on the engine's clock; none of an idle one."""
    if sample.step.is_idle:
        return ()
    length_ns = sample.interval_ns or NS_PER_S
    end_ns = sample.started_ns + sample.elapsed_ns
    begins = range(sample.started_ns, end_ns, length_ns)
    return tuple((from_ns, min(from_ns + length_ns, end_ns)) for from_ns in begins)
