"""What a drive drew and wrote in each part of a run: by step, or between readings of its log."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from msgspec import Struct

from openpts.fields.readers import data_word
from openpts.record.health import (
    DRIVE_POWER,
    EXTERNAL_PEAK,
    EXTERNAL_POWER,
    HealthRecord,
    ReadingPoint,
    TelemetrySeries,
    around,
)
from openpts.record.reader import Run, StepRecord
from openpts.units import GB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import (
    DRIVE_ENERGY,
    DRIVE_HOST_WRITES,
    DRIVE_MEDIA_WRITES,
    Phase,
    Sample,
    StepPlace,
    StepState,
    phase_text,
)
from openpts_pages.texts import capitalised
from openpts_work.counters import (
    CounterMeter,
    Drawn,
    Meter,
    WattMeter,
    clock_offset,
    counter_change,
    fine_change,
)

# Less of the time than that says nothing of the whole.
_LEAST_COVERAGE: Final = 0.5
_WH_PER_KWH: Final = 1000
_S_PER_H: Final = 3600
# Their numbers count repeats of the same.
_REPEATED: Final = frozenset(
    {
        Phase.WDPC,
        Phase.ROUND,
        Phase.SATURATION,
        Phase.ROUND_PREWRITE,
        Phase.RETURN_TO_BASELINE,
        Phase.DRIVE_CYCLE,
    }
)


def _phase_name(place: StepPlace) -> str:
    """A phase, with its number where numbers are different things."""
    text = (
        place.phase.replace("_", " ") if place.phase in _REPEATED else phase_text(place.phase, place.number)
    )
    return text.upper() if place.phase in {Phase.WIPC, Phase.WDPC} else capitalised(text)


MORE_THAN_HOST: Final = 1.1
"""What is written for the host alone is a little more than its bytes: tables, padding."""


class WorkSpan(Struct, frozen=True, dict=True):
    """Steps one after the other, and what was written in them: to the media, and by the host.

    Where the drive counts what the host wrote, that also has I/Os that count in no step.
    """

    steps: tuple[StepRecord, ...]
    media_bytes: float
    host_bytes: float

    @property
    def elapsed_ns(self) -> int:
        """How long they lasted."""
        return sum(step.sample.elapsed_ns for step in self.steps)

    @cached_property
    def idle_ns(self) -> int:
        """How long the host was idle in them."""
        return sum(step.sample.elapsed_ns for step in self.steps if step.sample.step.is_idle)

    @cached_property
    def is_load(self) -> bool:
        """Whether writes count in them."""
        return bool(_written_bytes(self.steps))

    @property
    def is_rest(self) -> bool:
        """Whether the drive was left alone, but for reads that look after it."""
        return bool(self.idle_ns) and not self.is_load


class PhaseWork(Struct, frozen=True, dict=True):
    """All steps of a part with one stimulus: what they did, and the energy that it took.

    ``largest_mean_w`` is the largest mean of any second in them (PCM-1 of OCP), ``peak_w`` the largest of any
    100 us (PCM-2); None where no meter reported that.
    """

    name: str
    steps: tuple[StepRecord, ...]
    drawn: Drawn
    largest_mean_w: float | None = None
    peak_w: float | None = None

    @cached_property
    def is_idle(self) -> bool:
        """Whether the host issued nothing."""
        return all(step.sample.step.is_idle for step in self.steps)

    @cached_property
    def elapsed_ns(self) -> int:
        """How long they lasted."""
        return sum(step.sample.elapsed_ns for step in self.steps)

    @cached_property
    def read_bytes(self) -> int:
        """Read by the host."""
        return sum(step.sample.read.bytes for step in self.steps)

    @cached_property
    def written_bytes(self) -> int:
        """Written by the host."""
        return _written_bytes(self.steps)

    @property
    def coverage_pct(self) -> float:
        """Share of the time for which the power is known."""
        return 100 * self.drawn.covered_ns / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def mean_w(self) -> float | None:
        """Mean power; None where too little of the time is covered."""
        return self.drawn.mean_w if self.drawn.covered_ns >= _LEAST_COVERAGE * self.elapsed_ns else None

    @property
    def joules(self) -> float | None:
        """Energy of all the time, at the mean power of what is covered."""
        return None if self.mean_w is None else self.mean_w * self.elapsed_ns / NS_PER_S

    @property
    def j_per_gb_read(self) -> float | None:
        """Of a part that only reads: in a mix, energy can't be divided among reads and writes."""
        return self._per_gb(self.read_bytes) if not self.written_bytes else None

    @property
    def j_per_gb_written(self) -> float | None:
        """Of a part that only writes."""
        return self._per_gb(self.written_bytes) if not self.read_bytes else None

    @property
    def iops_per_w(self) -> float | None:
        """I/Os per second and watt, which is I/Os per joule."""
        ios = sum(step.sample.ios for step in self.steps)
        return ios / self.joules if self.joules and ios else None

    @property
    def j_per_io(self) -> float | None:
        """Energy of an I/O, all of the part's power counted."""
        ios = sum(step.sample.ios for step in self.steps)
        return self.joules / ios if self.joules is not None and ios else None

    @property
    def gb_per_kwh(self) -> float | None:
        """All that was read and written, by energy."""
        moved_gb = (self.read_bytes + self.written_bytes) / GB
        return moved_gb * _S_PER_H * _WH_PER_KWH / self.joules if self.joules and moved_gb else None

    def battery_h(self, battery_wh: float | None) -> float | None:
        """How long a battery of so many watt-hours feeds the drive alone."""
        return battery_wh / self.mean_w if self.mean_w and battery_wh else None

    def _per_gb(self, moved_bytes: int) -> float | None:
        return self.joules * GB / moved_bytes if self.joules is not None and moved_bytes else None


class DriveWork(Struct, frozen=True, dict=True):
    """A run as its drive worked in it."""

    run: Run

    @cached_property
    def steps(self) -> tuple[StepRecord, ...]:
        """The complete steps of the run."""
        return tuple(step for step in self.run.steps if step.sample.state is StepState.COMPLETE)

    @cached_property
    def meter(self) -> tuple[Meter, str] | None:
        """What measured the drive's own power, and its name; sensors of the host are not of the drive."""
        series = self.run.telemetry_series
        if found := series.get(DRIVE_ENERGY):
            return CounterMeter(found.t_ns, found.values), "the simulated drive's own counter"
        if found := series.get(EXTERNAL_POWER):
            return self._external(found)
        if found := series.get(DRIVE_POWER):
            source = self.run.manifest.telemetry.get("drive power")
            return WattMeter(
                found.t_ns, found.values
            ), f"the drive's own report: {source.value if source else ''}"
        return None

    def _external(self, found: TelemetrySeries) -> tuple[Meter, str]:
        """The operator's meter, on the host's clock where the load shows how far its own is from it."""
        fact = self.run.manifest.telemetry.get("external power")
        says = (fact.value or "") if fact else ""
        source = f"samples of the power command{f' ({says})' if says else ''}"
        steps = [step.sample for step in self.steps]
        bursts = [(one.started_ns, one.started_ns + one.elapsed_ns) for one in steps if not one.step.is_idle]
        apart = any(one.step.is_idle for one in steps)
        offset = clock_offset(found.t_ns, found.values, bursts) if apart else None
        if offset is None:
            return WattMeter(found.t_ns, found.values), source
        t_ns = [at_ns - offset.offset_ns for at_ns in found.t_ns]
        moved = f"{offset.offset_ns / NS_PER_MS:+.1f} ms"
        return WattMeter(
            t_ns, found.values
        ), f"{source}, {moved} from the load (correlation {offset.correlation:.2f}), on its clock"

    @cached_property
    def peak_series(self) -> TelemetrySeries | None:
        """Peaks that the operator's meter reported; None where it reports none."""
        return self.run.telemetry_series.get(EXTERNAL_PEAK)

    @cached_property
    def parts(self) -> tuple[PhaseWork, ...]:
        """The parts of the run with the energy of each, in the order in which they began."""
        groups: dict[str, list[StepRecord]] = {}
        for step in self.steps:
            groups.setdefault(self.name_of((step,)), []).append(step)
        return tuple(self.part(name, steps) for name, steps in groups.items())

    def whole(self, name: str, chosen: Callable[[PhaseWork], bool]) -> PhaseWork | None:
        """The chosen parts as one; None where there is none."""
        parts = [part for part in self.parts if chosen(part)]
        if not parts:
            return None
        steps = tuple(step for part in parts for step in part.steps)
        return PhaseWork(name, steps, sum((part.drawn for part in parts), Drawn()))

    def part(self, name: str, steps: Sequence[StepRecord]) -> PhaseWork:
        """Some steps of the run, with the energy that they took."""
        drawn = Drawn()
        if self.meter is not None:
            for sample in (step.sample for step in steps):
                drawn += self.meter[0].drawn(sample.started_ns, sample.started_ns + sample.elapsed_ns)
        return PhaseWork(name, tuple(steps), drawn, self._largest_mean_w(steps), self._peak_w(steps))

    def _largest_mean_w(self, steps: Sequence[StepRecord]) -> float | None:
        """Of seconds that begin with a sample and lie in one step."""
        if self.meter is None or not isinstance(self.meter[0], WattMeter):
            return None
        meter = self.meter[0]
        means = [
            one.mean_w
            for begin_ns, end_ns in _times(steps)
            for at_ns in meter.moments(begin_ns, end_ns - NS_PER_S)
            if (one := meter.drawn(at_ns, at_ns + NS_PER_S)).mean_w is not None
        ]
        return max((mean_w for mean_w in means if mean_w is not None), default=None)

    def _peak_w(self, steps: Sequence[StepRecord]) -> float | None:
        if self.peak_series is None:
            return None
        t_ns, watts = self.peak_series.t_ns, self.peak_series.values
        spans = [(bisect_left(t_ns, begin), bisect_left(t_ns, end)) for begin, end in _times(steps)]
        return max((watt for first, last in spans for watt in watts[first:last]), default=None)

    def name_of(self, steps: Iterable[StepRecord]) -> str:
        """The parts that steps belong to, with what was done in each."""
        found: dict[str, dict[str, None]] = {}
        for step in steps:
            found.setdefault(self._named_part(step.place), {}).setdefault(self._done(step))
        named = []
        for part, stimuli in found.items():
            if len(stimuli) > 1:
                stimuli.pop("idle", None)  # pauses belong to what is between them
            named.append(f"{part}: {', '.join(stimuli)}")
        return "; ".join(named)

    def _done(self, step: StepRecord) -> str:
        """The stimulus, with its data where these are not the test's: the levels of a sweep."""
        stimulus, text = step.sample.step.stimulus, str(step.sample.step)
        if stimulus is None or stimulus.data == self.run.manifest.conditions.data:
            return text
        return f"{text}, {data_word(stimulus.data)}"

    def _named_part(self, place: StepPlace) -> str:
        conditions = self.run.manifest.conditions
        name = conditions.part_name(place) or _phase_name(place)
        return (
            f"Cycle {place.cycle}, {name}" if self.run.cycle_count > 1 and place.phase in _REPEATED else name
        )

    @cached_property
    def stretches(self) -> tuple[WorkSpan, ...]:
        """Steps with what was written to the media in them, as finely as it is known."""
        series = self.run.telemetry_series
        media, host = series.get(DRIVE_MEDIA_WRITES), series.get(DRIVE_HOST_WRITES)
        if media is None or host is None:
            return tuple(self._by_log())
        return tuple(self._by_step(media, host))

    @cached_property
    def named_stretches(self) -> tuple[tuple[str, WorkSpan], ...]:
        """The stretches, each behind the name of its steps."""
        return tuple((self.name_of(stretch.steps), stretch) for stretch in self.stretches)

    @cached_property
    def logged(self) -> WorkSpan | None:
        """The entire run, by the log before and after it; None where that counts too coarsely, or not."""
        before, after = around(self.run.health)
        if before is None or after is None:
            return None
        media, host = _logged(before, after)
        return WorkSpan(self.steps, media, host) if media and host else None

    def _by_step(self, media: TelemetrySeries, host: TelemetrySeries) -> Iterator[WorkSpan]:
        """What a simulated drive counts itself."""
        for step in self.steps:
            to_media = _counted(media, step.sample)
            by_host = _counted(host, step.sample)
            if to_media is not None and by_host is not None:
                yield WorkSpan((step,), to_media, by_host)

    def _by_log(self) -> Iterator[WorkSpan]:
        """What the log of a drive counted from one reading to the next, where it counts finely enough."""
        readings = [one for one in self.run.health if one.occasion is not ReadingPoint.SET_ASIDE]
        starts = [step.sample.started_ns for step in self.steps]
        for before, after in pairwise(readings):
            first = 0 if before.t_ns is None else bisect_left(starts, before.t_ns)
            end = 0 if after.t_ns is None else bisect_left(starts, after.t_ns)
            media, host = _logged(before, after)
            if first < end and media is not None:
                steps = self.steps[first:end]
                yield WorkSpan(steps, media, _written_bytes(steps) if host is None else host)


def _times(steps: Iterable[StepRecord]) -> Iterator[tuple[int, int]]:
    for sample in (step.sample for step in steps):
        yield sample.started_ns, sample.started_ns + sample.elapsed_ns


def _counted(series: TelemetrySeries, sample: Sample) -> float | None:
    end_ns = sample.started_ns + sample.elapsed_ns
    return counter_change(series.t_ns, series.values, sample.started_ns, end_ns)


def _logged(before: HealthRecord, after: HealthRecord) -> tuple[float | None, float | None]:
    """Written to the media and by the host between two readings, as far as each is known well enough."""
    logs = before.reading.values, after.reading.values
    return fine_change(*logs, "nand_write_bytes"), fine_change(*logs, "host_write_bytes")


def _written_bytes(steps: Iterable[StepRecord]) -> int:
    return sum(step.sample.write.bytes for step in steps)
