"""Results of the real-world storage workload of a capture: of each part, as far as it came."""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from openpts.analysis.rounds import MeasurementWindow, consecutive_rounds, measurement_window
from openpts.analysis.steady_state import disturbed_rounds, window_ending_at
from openpts.procedures.kit.header import of_cycle
from openpts.procedures.shared.tracking.pages import TrackedPhase, tracked_phase
from openpts.record.reader import Run
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_fio.fio_job.conditions import parts_of
from openpts_traces.characteristics.capture import Capture, CaptureStream
from openpts_traces.rws import RwsConditions, RwsPart
from openpts_traces.rws.streams import pass_figures


class Alone(Struct, frozen=True):
    """A stream of the applied workload by itself."""

    stream: CaptureStream
    tracked: TrackedPhase


class Replay(Struct, frozen=True):
    """Whole passes of replay-native, each with a sample for each step of the capture.

    ``reports`` are those of average response time and throughput over the window's passes, empty without a
    full window.
    """

    passes: tuple[tuple[Sample, ...], ...]
    window: MeasurementWindow
    reports: tuple[SteadyStateReport, ...]

    @property
    def steady(self) -> bool:
        """Whether both figures are."""
        return bool(self.reports) and all(report.steady for report in self.reports)

    @property
    def typical(self) -> tuple[Sample, ...]:
        """The pass of the window, or of all, with the median average response time."""
        some = [self.passes[n - 1] for n in self.window.rounds] or list(self.passes)
        middle = median([pass_figures(one)[0] for one in some]) if some else 0.0
        return min(some, key=lambda one: abs(pass_figures(one)[0] - middle), default=())


class RwsRun(Struct, frozen=True):
    """Everything that the pages show of a run; None or empty are parts that were not run."""

    run: Run
    conditions: RwsConditions
    capture: Capture
    alone: tuple[Alone, ...]
    multi: TrackedPhase | None
    replay: Replay | None

    def in_composite(self, name: str) -> list[Measured]:
        """A stream within the composite, in the minutes of its window."""
        if self.multi is None:
            return []
        minutes = self.multi.results.window_minutes
        return [part for sample in minutes for one, part in parts_of(sample) if one == name]


def rws_run(run: Run) -> RwsRun:
    """The results of a run, from the samples in its record."""
    conditions = run.conditions(RwsConditions)
    capture = conditions.captured
    assert capture is not None  # noqa: S101 no run begins without one
    alone: list[Alone] = []
    multi: TrackedPhase | None = None
    replay: Replay | None = None
    for cycle, (part, numbers) in enumerate(conditions.cycles(), start=1):
        match part:
            case RwsPart.INDIVIDUAL:
                alone += [
                    Alone(
                        capture.streams[n],
                        tracked_phase(run, Phase.SATURATION, cycle, before=n * conditions.max_rounds),
                    )
                    for n in numbers
                ]
            case RwsPart.MULTI:
                multi = tracked_phase(run, Phase.SATURATION, cycle)
            case RwsPart.REPLAY_NATIVE:
                replay = _replay(run, cycle, len(capture.steps))
    return RwsRun(run, conditions, capture, tuple(alone), multi, replay)


def _replay(run: Run, cycle: int, steps: int) -> Replay:
    placed = ((at.place.number, at.place.position, at.sample) for at in run.phase(Phase.ROUND, cycle=cycle))
    found = consecutive_rounds(placed, range(steps))
    passes = tuple(tuple(samples[at] for at in range(steps)) for samples in found)
    finished = of_cycle(run.manifest.cycles, cycle)
    window = measurement_window(len(passes), finished.outcome.steady_round if finished else None)
    return Replay(passes, window, _reports(passes, window))


def _reports(
    passes: Sequence[tuple[Sample, ...]], window: MeasurementWindow
) -> tuple[SteadyStateReport, ...]:
    if not window.is_full:
        return ()
    figures = zip(*map(pass_figures, passes), strict=True)
    disturbed = disturbed_rounds(passes)
    return tuple(window_ending_at(series, window.rounds[-1], disturbed) for series in figures)
