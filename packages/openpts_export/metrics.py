"""The run in progress as metrics for Prometheus, scraped by HTTP or written to a file.

Names and labels are an interface (docs/interfaces.md). Units are seconds and bytes. Each metric has the label
``target``, so that those of several runs on a host can be in one place.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.registry import Collector

from openpts.engine.contract import EngineProgress
from openpts.errors import UsageError
from openpts.output_files import refuse_other_kind, refuse_run_folder
from openpts.record.manifest import ELSEWHERE, RunState
from openpts.runner import event_lines as lines
from openpts.runner import events
from openpts.runner.event_stream import PERCENTILES, RecentRate, operation_lines
from openpts.runner.events import Event
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.sample import Sample

_WRITTEN_EACH_S: Final = 5.0


class RunMetrics(Collector):
    """The run in progress, of a suite the last one that began. A scrape may come from any thread."""

    def __init__(self) -> None:
        self._run: _MeasuredRun | None = None

    def on_event(self, event: Event) -> None:
        """Keep what the event says."""
        if isinstance(event, events.RunStarted):
            self._run = _MeasuredRun(event)
        elif self._run is not None:
            self._run.on_event(event)

    def collect(self) -> Iterator[Metric]:
        """All metrics with their values of now; none before a run has its drive."""
        if self._run is not None:
            yield from self._run.metrics()


class _MeasuredRun(Struct):
    started: events.RunStarted
    _state: RunState = RunState.RUNNING
    _phase: events.StepsStarted | None = None
    _tick: events.Ticked | None = None
    _rate: RecentRate = field(default_factory=RecentRate)
    _steps: int = 0
    _ios: int = 0
    _bytes: int = 0
    _last: Sample | None = None
    _errors: int = 0
    _deviations: int = 0
    _standstill_ns: int = 0
    _steady: bool | None = None
    _limits: Counter[Judgement] | None = None

    def on_event(self, event: Event) -> None:
        match event:
            case lines.DeviationFound(steps=steps):
                self._deviations += steps <= 1  # the event comes again for more of them
            case events.StepsStarted():
                self._phase = event
            case events.Ticked():
                self._tick = event
                self._rate.take(event)
            case events.StepFinished(_, sample):
                self._steps += 1
                self._last = sample
                self._ios, self._bytes = self._ios + sample.ios, self._bytes + sample.bytes
                self._errors += sum(error.count for error in sample.errors)
                self._standstill_ns += sample.standstill_ns
            case lines.SteadyStateJudged(steady=steady):
                self._steady = steady
            case lines.LimitsJudged(limits=limits):
                self._limits = Counter(limit.judgement for limit in limits)
            case lines.RunEnded(state=state):
                self._state, self._rate = RunState(state), RecentRate()
            case _:
                pass

    def metrics(self) -> Iterator[Metric]:
        target = self.started.manifest.target.path
        yield _info(self.started)
        state = StateSetMetricFamily("openpts_run_state", "State of the run.", labels=["target"])
        of_batches = {*ELSEWHERE, RunState.WAITING, RunState.REFUSED}
        shown = {each.value: each is self._state for each in RunState if each not in of_batches}
        state.add_metric([target], shown)
        yield state
        longest_ns = sum(sum(planned.durations_ns) for planned in self.started.plan)
        yield _gauge("run_longest_seconds", "What the run takes at most.", target, longest_ns / NS_PER_S)
        if self._phase is not None:
            apply = self._phase.apply
            labels = {"cycle": str(self._phase.cycle), "phase": apply.phase.value}
            yield _gauge("phase_number", "Number of the phase.", target, apply.number, labels)
        if self._steady is not None:
            yield _gauge("steady", "Whether the last window judged was steady.", target, self._steady)
        if self._limits is not None:
            limits = GaugeMetricFamily("openpts_limits", "Limits by verdict.", labels=["target", "verdict"])
            for judgement in Judgement:
                limits.add_metric([target, judgement.value], self._limits[judgement])
            yield limits
        yield _counter("steps", "Steps that are measured.", target, self._steps)
        running = EngineProgress(0, 0, 0, 0) if self._tick is None else self._tick.progress
        yield _counter("ios", "I/Os completed.", target, max(running.ios, self._ios))
        yield _counter("bytes", "Bytes moved or trimmed.", target, max(running.bytes, self._bytes))
        yield _counter("io_errors", "I/Os that failed.", target, self._errors)
        yield _counter("deviations", "Entries of the ledger.", target, self._deviations)
        standstill_s = self._standstill_ns / NS_PER_S
        yield _counter("standstill_seconds", "Time in which openpts did not run.", target, standstill_s)
        yield from self._of_the_engine(target, running)
        if self._last is not None:
            yield from _response_times(target, self._last)

    def _of_the_engine(self, target: str, progress: EngineProgress) -> Iterator[Metric]:
        yield _gauge("iops", "I/Os completed per second.", target, self._rate.iops)
        yield _gauge("throughput_bytes_per_second", "Throughput.", target, self._rate.bytes_per_s)
        elapsed_s = progress.step_elapsed_ns / NS_PER_S
        yield _gauge("step_elapsed_seconds", "Time since the step began.", target, elapsed_s)
        oldest_s = 0.0 if progress.oldest is None else progress.oldest.age_ns / NS_PER_S
        yield _gauge("oldest_io_age_seconds", "Age of the I/O that waits longest.", target, oldest_s)


def _response_times(target: str, step: Sample) -> Iterator[Metric]:
    """Of the last step: percentiles that enough I/Os are behind, mean and maximum, by kind of I/O."""
    name, labels = "openpts_step_response_time", ["target", "operation"]
    times = GaugeMetricFamily(f"{name}_seconds", "Of the last step.", labels=[*labels, "percentile"])
    mean = GaugeMetricFamily(f"{name}_mean_seconds", "Mean of the last step.", labels=labels)
    most = GaugeMetricFamily(f"{name}_max_seconds", "Maximum of the last step.", labels=labels)
    for kind, operation in operation_lines(step, PERCENTILES).items():
        if operation.latency_mean_ns is None or operation.latency_max_ns is None:
            continue
        mean.add_metric([target, kind], operation.latency_mean_ns / NS_PER_S)
        most.add_metric([target, kind], operation.latency_max_ns / NS_PER_S)
        for name, value_ns in operation.percentiles_ns.items():
            times.add_metric([target, kind, name.removeprefix("p")], value_ns / NS_PER_S)
    yield from (times, mean, most)


def _info(started: events.RunStarted) -> InfoMetricFamily:
    manifest = started.manifest
    drive = {key: fact_of(manifest.dut, key) or "" for key in ("model", "serial", "firmware")}
    simulation = manifest.target.simulation
    return InfoMetricFamily(
        "openpts_run",
        "What is run on what.",
        {
            "target": manifest.target.path,
            "run": manifest.test_id,
            "test": manifest.conditions.test,
            "profile": manifest.conditions.class_text,
            "simulated": "" if simulation is None else simulation.preset,
            **drive,
            **{f"label_{name}": value for name, value in manifest.people.labels.items()},
        },
    )


def _gauge(
    name: str, text: str, target: str, value: float, more: Mapping[str, str] = MappingProxyType({})
) -> Metric:
    gauge = GaugeMetricFamily(f"openpts_{name}", text, labels=["target", *more])
    gauge.add_metric([target, *more.values()], value)
    return gauge


def _counter(name: str, text: str, target: str, value: float) -> Metric:
    counter = CounterMetricFamily(f"openpts_{name}", text, labels=["target"])
    counter.add_metric([target], value)
    return counter


class TextfileMetrics:
    """A file for node_exporter, replaced every few seconds by the metrics of then.

    ``lost`` is why it could not be replaced the last time, empty if it was. Raises UsageError if it can't be
    written from the start.
    """

    def __init__(self, path: Path, metrics: Collector) -> None:
        refuse_run_folder(path)
        refuse_other_kind(path, b"# HELP openpts_")
        self._path, self._registry = path, CollectorRegistry()
        self._registry.register(metrics)
        self._written_s = 0.0
        self.lost = ""
        self.write()
        if self.lost:
            raise UsageError(f"can't write --metrics {path}: {self.lost}")

    def renew(self) -> None:
        """Replace the file, if the last time is a while ago."""
        if time.monotonic() - self._written_s >= _WRITTEN_EACH_S:
            self.write()

    def write(self) -> None:
        """Replace the file."""
        self._written_s = time.monotonic()
        try:
            write_to_textfile(str(self._path), self._registry)
            self.lost = ""
        except OSError as error:
            self.lost = error.strerror or str(error)
