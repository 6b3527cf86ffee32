"""Judges while a run is in progress in which of its seconds the host was the limit."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from openpts.analysis.limited_seconds import HostLimit, rule_of
from openpts.record.health import TelemetryPoint, TelemetrySeries
from openpts.record.host_marks import Spans, spans_of, step_marks
from openpts.runner.events import HostLimited
from openpts.units import NS_PER_S
from openpts.vocabulary.phase import StepPlace
from openpts.vocabulary.sample import Sample


class HostWatch(Struct):
    """Takes steps and samples as they come; a step is judged when one more period has been sampled."""

    period_s: float
    polling: bool
    _series: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    _steps: list[tuple[StepPlace, Spans]] = field(default_factory=list)
    _seen: set[HostLimit] = field(default_factory=set)

    def follows(
        self,
        steps: Sequence[tuple[StepPlace, Sample]],
        points: Sequence[TelemetryPoint],
        now_ns: int,
        ended: bool,
    ) -> Iterator[HostLimited]:
        """See ScriptRunner."""
        for place, sample in steps:
            self.add_step(place, sample)
        self.add_points(points)
        return self.judged(now_ns, ended=ended)

    def add_step(self, place: StepPlace, sample: Sample) -> None:
        """Queues a finished step until its host values have been sampled."""
        if spans := spans_of(sample):
            self._steps.append((place, spans))

    def add_points(self, points: Sequence[TelemetryPoint]) -> None:
        """Takes in sampled values that a host limit is judged by; ``t_ns`` is on the steps' clock."""
        for point in points:
            if rule_of(point.name) is not None:
                self._series.setdefault(point.name, []).append((point.t_ns, point.value))

    def judged(self, now_ns: int, *, ended: bool = False) -> Iterator[HostLimited]:
        """The steps in which the host was the limit, of those that can be judged; ``ended``: of all."""
        behind_ns = 0 if ended else round(2 * self.period_s * NS_PER_S)
        ready = [one for one in self._steps if one[1][-1][1] + behind_ns <= now_ns]
        if not ready:
            return
        self._steps = self._steps[len(ready) :]
        spans = [of_step for _, of_step in ready]
        # a value that was not stored since has not changed
        series = {
            name: TelemetrySeries(*zip(*points, (now_ns, points[-1][1]), strict=True))
            for name, points in self._series.items()
        }
        found = step_marks(spans, series, self.period_s, polling=self.polling)
        for (place, _), marks in zip(ready, found, strict=True):
            limited_ns = {limit: ns for limit in HostLimit if (ns := marks.marked_ns(limit))}
            if limited_ns:
                new = tuple(limit for limit in limited_ns if limit not in self._seen)
                self._seen.update(new)
                evidence = sorted(name for limit in limited_ns for name in marks.evidence(limit))
                yield HostLimited(place, limited_ns, marks.judged_ns, new, tuple(evidence))
        self._forget(spans[-1][-1][1])

    def _forget(self, until_ns: int) -> None:
        """What was sampled until then, but the last of it: it tells where the next value begins."""
        for name, points in self._series.items():
            begin = sum(t_ns <= until_ns for t_ns, _ in points)
            self._series[name] = points[max(0, begin - 1) :]
