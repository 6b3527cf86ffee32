"""What a run says of response times under load: peaks, the map, and each mix with its searches."""

from collections.abc import Mapping

from msgspec import Struct

from openpts.procedures.shared.tracking.pages import TrackedPhase, tracked_phase
from openpts.record.reader import Run
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts_practice.qos import Limit, QosConditions, mix_text
from openpts_practice.qos.points import Bracket, Point, bracket_of, points_of


class Search(Struct, frozen=True):
    """The highest load of a mix that keeps a limit, as far as it was found."""

    mix: "Mix"
    limit: Limit
    bracket: Bracket
    late_pct: float

    @property
    def name(self) -> str:
        """``70/30, p99 of reads <= 1.00 ms``."""
        return f"{self.mix}, {self.limit}"

    @property
    def is_judged(self) -> bool:
        """Whether loads were measured, and the I/Os of the lowest one suffice to say what became of it."""
        kept, broken = self.bracket.kept, self.bracket.broken
        return kept is not None or (
            broken is not None and broken.keeps(self.limit, self.late_pct) is not None
        )

    @property
    def absence(self) -> str:
        """Why there is no highest load; empty where there is one."""
        kept, broken = self.bracket.kept, self.bracket.broken
        if kept is not None and broken is not None:
            return ""
        if kept is not None:
            return f"not reached: the highest load, {kept.ios_per_s:,.1f} IOPS, keeps the limit"
        if broken is None:
            return "not measured"
        if not self.is_judged:
            return f"not judged: too few I/Os at {broken.ios_per_s:,.1f} IOPS"
        return f"not reached: the lowest load, {broken.ios_per_s:,.1f} IOPS, breaks the limit"

    def doubt(self, conditions: QosConditions) -> str:
        """Why a highest load is not known as well as asked for; empty where it is."""
        kept, broken = self.bracket.kept, self.bracket.broken
        if kept is None or broken is None:
            return ""
        found = []
        if self.bracket.next_load(conditions) is not None:
            found.append(f"not narrowed to {conditions.width_pct:g} % or not measured often enough")
        if self.bracket.broken_below:
            loads = f"{self.bracket.broken_below} lower load{'s' if self.bracket.broken_below > 1 else ''}"
            found.append(f"{loads} did not keep the limit")
        if kept.is_limited_by_host or broken.is_limited_by_host:
            found.append("the host was late or its processors were full: the drive may take more")
        return "; ".join(found)

    def at(self, point: Point) -> int | None:
        """The limit's percentile at a load, of all measurements together; None with too few I/Os."""
        return point.percentile_ns(self.limit.operation, self.limit.percentile)

    def range_at(self, point: Point) -> tuple[int, int] | None:
        """The lowest and the highest of single measurements of a load; None with fewer than two."""
        alone = (Point(point.reads_per_s, point.writes_per_s, (sample,)) for sample in point.samples)
        known = [value_ns for one in alone if (value_ns := self.at(one)) is not None]
        return (min(known), max(known)) if len(known) > 1 else None


class Mix(Struct, frozen=True):
    """A mix with its loads from the least to the highest; ``peak_per_s`` is None if it was not measured."""

    read_pct: int
    peak_per_s: float | None
    points: tuple[Point, ...]

    def __str__(self) -> str:
        return mix_text(self.read_pct)

    def share_pct(self, ios_per_s: float) -> float | None:
        """A load in per cent of the mix's peak."""
        return 100 * ios_per_s / self.peak_per_s if self.peak_per_s else None


class QosRun(Struct, frozen=True):
    """Everything that the pages show of a run; ``pairs`` are by per cent of the read and the write peak."""

    run: Run
    conditions: QosConditions
    preparation: TrackedPhase
    peaks: Mapping[int, Sample]
    pairs: Mapping[tuple[float, float], Point]
    mixes: tuple[Mix, ...]

    @property
    def searches(self) -> tuple[Search, ...]:
        """Of each mix and each limit that it has operations for."""
        return tuple(
            Search(mix, limit, bracket_of(mix.points, limit, self.conditions), self.conditions.late_pct)
            for mix in self.mixes
            for limit in self.conditions.limits_of(mix.read_pct)
        )


def qos_run(run: Run) -> QosRun:
    """The results of a run, from the samples in its record."""
    conditions = run.conditions(QosConditions)
    measured = [step.sample for step in run.phase(Phase.PROFILE) if step.sample.state is StepState.COMPLETE]
    peaks = {round(one.step.stimuli[0].read_pct): one for one in measured}
    swept = [step.sample for step in run.phase(Phase.SWEEP) if step.sample.state is StepState.COMPLETE]
    pairs = [points_of([sample])[0] for sample in swept]
    mixes = [
        Mix(
            read_pct,
            peaks[read_pct].iops if read_pct in peaks else None,
            points_of(step.sample for step in run.phase(Phase.LOAD) if step.place.number == number),
        )
        for number, read_pct in enumerate(conditions.mixes_read_pct, start=1)
    ]
    return QosRun(
        run=run,
        conditions=conditions,
        preparation=tracked_phase(run, Phase.WDPC),
        peaks=peaks,
        pairs={
            (
                _share_pct(point.reads_per_s, peaks[100], conditions),
                _share_pct(point.writes_per_s, peaks[0], conditions),
            ): point
            for point in pairs
        },
        mixes=tuple(mixes),
    )


def _share_pct(ios_per_s: float, peak: Sample, conditions: QosConditions) -> float:
    """The load of the map that a rate is, without the binary dust of its computation."""
    return min(conditions.loads_pct, key=lambda share: abs(share / 100 * peak.iops - ios_per_s))
