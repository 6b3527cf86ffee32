"""Adds to what a test reports what its drive drew, wrote and did on its own, alike for all tests."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, groupby, pairwise
from statistics import fmean
from typing import Final

from msgspec import Struct, structs
from msgspec.structs import replace

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.standing import Standing
from openpts.record.health import EXTERNAL_TEMPERATURE, TelemetrySeries, difference
from openpts.record.reader import Run, StepRecord
from openpts.units import GB, MB, NS_PER_S, format_duration
from openpts.vocabulary.sample import DRIVE_MEDIA_WRITES, Interval
from openpts.vocabulary.stimulus import ClosedLoop
from openpts.vocabulary.verdict import Better
from openpts_pages import cells
from openpts_pages.kit import Col, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Page, Section, Verdict
from openpts_work.counters import counter_change
from openpts_work.dips import SHARE, WINDOW, Dip, dips_of
from openpts_work.energy_page import energy_measures, energy_page, media_measures, media_page
from openpts_work.work import MORE_THAN_HOST, DriveWork

_PRINTED_CELLS: Final = 240
_MOST: Final = 100
_HUNG_NS: Final = NS_PER_S
_BUSY_PCT: Final = 90.0
_OTHERS_BYTES_PER_S: Final = 10 * MB
# HYP-BG-01
_COULD_BE: Final = (
    "nothing recorded; could be garbage collection, wear leveling, data refresh, parity of the drive's own "
    "RAID, calibration, or recovery from a dirty shutdown"
)


class _Point(Struct, frozen=True):
    """An interval of a load; ``begin_ns`` is on the engine's clock."""

    begin_ns: int
    interval: Interval
    step: StepRecord

    @property
    def end_ns(self) -> int:
        return self.begin_ns + self.interval.elapsed_ns


Loads = tuple[tuple[_Point, ...], ...]


class LoadDip(Struct, frozen=True):
    """A dip of a load, how much the load had written before it, and what the record knows of it."""

    load: tuple[_Point, ...]
    dip: Dip
    written_bytes: int

    @property
    def points(self) -> tuple[_Point, ...]:
        """Points of the load inside the dip."""
        return self.load[self.dip.first : self.dip.last + 1]

    @property
    def before(self) -> tuple[_Point, ...]:
        """What its median is of."""
        return self.load[max(0, self.dip.first - WINDOW) : self.dip.first]

    @property
    def begin_ns(self) -> int:
        """On the engine's clock."""
        return self.load[self.dip.first].begin_ns

    @property
    def end_ns(self) -> int:
        """End of the dip on the clock of the run."""
        return self.load[self.dip.last].end_ns

    @property
    def lost_bytes(self) -> float:
        """What it fell behind its median."""
        moved = sum(point.interval.bytes for point in self.points)
        return self.dip.median * sum(point.interval.elapsed_ns for point in self.points) / NS_PER_S - moved


def loads_of(work: DriveWork) -> Iterator[tuple[_Point, ...]]:
    """Stretches under one stimulus without pauses of its own, without the cut intervals at steps' ends."""
    for (_, stimulus), steps in groupby(
        work.run.steps,
        lambda step: ((step.place.cycle, step.place.phase, step.place.number), step.sample.step.stimulus),
    ):
        if stimulus is not None and isinstance(stimulus.pacing, ClosedLoop):
            points = tuple(_points(steps))
            if points:
                yield points


def _points(steps: Iterator[StepRecord]) -> Iterator[_Point]:
    for step in steps:
        sample = step.sample
        for interval in sample.intervals:
            if interval.elapsed_ns >= sample.interval_ns:
                yield _Point(sample.started_ns + interval.index * sample.interval_ns, interval, step)


def dips_verdict(loads: Loads, dips: Sequence[LoadDip]) -> tuple[Verdict, ...]:
    """How often throughput dipped, of a run with intervals to judge."""
    judged_ns = sum(point.interval.elapsed_ns for points in loads for point in points)
    if not judged_ns:
        return ()
    count = f"{len(dips):,}, each with what the record knows of it on its own page" if dips else "none"
    return (
        Verdict(
            f"Dips of throughput below {100 * SHARE:g} % of the running median: {count}, in "
            f"{format_duration(judged_ns)} of load."
        ),
    )


def dips_page(work: DriveWork, dips: Sequence[LoadDip], prefix: str) -> Page | None:
    """The table of all dips; None without one."""
    if not dips:
        return None
    worst = sorted(dips, key=lambda one: one.lost_bytes, reverse=True)[:_MOST]
    left_out = f" The {len(worst)} of {len(dips):,} that cost the most." if len(worst) < len(dips) else ""
    page_id, start_ns = f"{prefix}-dips", work.run.steps[0].sample.started_ns
    shown = table(
        page_id,
        f"Throughput below {100 * SHARE:g} % of its running median",
        Col("Elapsed (s)", lambda one: cells.number((one.begin_ns - start_ns) / NS_PER_S, 1)),
        (
            Col("Load", lambda one: Cell(work.name_of((one.points[0].step,))), align="left", width=2.2),
            Col("Lasted (s)", lambda one: cells.number((one.end_ns - one.begin_ns) / NS_PER_S, 1)),
            Col("Median before (MB/s)", lambda one: cells.number(one.dip.median / MB, 1)),
            Col("Lowest (MB/s)", lambda one: cells.number(one.dip.lowest / MB, 1)),
            Col("Temperature (°C)", lambda one: _temperature(work, one)),
            Col(
                "What the record knows",
                lambda one: Cell("; ".join(_known(work, one)) or _COULD_BE),
                align="left",
                width=3.4,
            ),
        ),
        sorted(worst, key=lambda one: one.begin_ns),
        note="The running median is that of the 61 intervals before, of at least 10. A dip that lasts ends "
        f"when the lower level has become the median.{left_out}",
        printed=_PRINTED_CELLS,
    )
    return Page(page_id, "Dips of Throughput", (shown,), mandatory=False)


def _temperature(work: DriveWork, dip: LoadDip) -> Cell:
    values = _held(work, "temperature_c", dip)
    return cells.number(max(values), 0) if values else cells.missing("not sampled")


def _held(work: DriveWork, name: str, dip: LoadDip) -> Sequence[float]:
    series = work.run.telemetry_series.get(name)
    return series.held(dip.begin_ns, dip.end_ns) if series else ()


def _known(work: DriveWork, dip: LoadDip) -> Iterator[str]:
    """What was seen in it, likely causes first."""
    if any(_held(work, "throttled", dip)):
        yield "heat slowed the drive down"
    if errors := sum(point.interval.errors for point in dip.points):
        yield f"{errors:,} I/Os failed"
    slowest_ns = max((point.interval.max_latency_ns or 0 for point in dip.points), default=0)
    if slowest_ns >= _HUNG_NS:
        yield f"an I/O hung for {slowest_ns / NS_PER_S:.1f} s"
    yield from _of_host(work, dip)
    yield from _of_media(work, dip)
    if dip.dip.lasts:
        yield from _of_level(dip)


def _of_host(work: DriveWork, dip: LoadDip) -> Iterator[str]:
    """Standstills, the link, other work on the machine."""
    standstills = (one for point in dip.points[:1] + dip.points[-1:] for one in point.step.sample.standstills)
    if any(
        one.started_ns < dip.end_ns and one.started_ns + one.lasted_ns > dip.begin_ns for one in standstills
    ):
        yield "openpts itself did not run"
    for name, series in work.run.telemetry_series.items():
        if name.startswith(("link_", "aer_")) and _changed(series, dip):
            yield "the PCIe link changed" if name.startswith("link_") else "errors on the PCIe link"
    others = sum(
        max(_held(work, name, dip), default=0)
        for name in ("others_read_bytes_per_s", "others_write_bytes_per_s")
    )
    if others >= _OTHERS_BYTES_PER_S:
        yield f"other drives moved {cells.fixed(others / MB, 0)} MB/s"
    busy_pct = max(_held(work, "cpu_all_busy_pct", dip), default=0)
    if busy_pct >= _BUSY_PCT:
        yield f"processors {cells.fixed(busy_pct, 0)} % busy"


def _changed(series: TelemetrySeries, dip: LoadDip) -> bool:
    return any(before != after for before, after in pairwise(series.held(dip.begin_ns, dip.end_ns)))


def _of_media(work: DriveWork, dip: LoadDip) -> Iterator[str]:
    """What a simulated drive, which counts it all the time, wrote beyond the host's own bytes."""
    series = work.run.telemetry_series.get(DRIVE_MEDIA_WRITES)
    if series is None:
        return
    media_bytes, host_bytes = _written(series, dip.points)
    if media_bytes > MORE_THAN_HOST * host_bytes:
        before_media, before_host = _written(series, dip.before)
        before = f", {cells.fixed(before_media / before_host, 2)} times as much before" if before_host else ""
        yield (
            f"the drive moved data: {cells.fixed(media_bytes / GB, 3)} GB written to the media for "
            f"{cells.fixed(host_bytes / GB, 3)} GB of the host{before}"
        )


def _written(series: TelemetrySeries, points: Sequence[_Point]) -> tuple[float, int]:
    """To the media, and by the host."""
    media_bytes = counter_change(series.t_ns, series.values, points[0].begin_ns, points[-1].end_ns)
    return media_bytes or 0.0, sum(point.interval.write.bytes for point in points)


def _of_level(dip: LoadDip) -> Iterator[str]:
    """Cause of a dip from which the load did not come back: what was fast has come to its end."""
    if dip.written_bytes:
        yield (
            f"the lower level lasts, after {cells.fixed(dip.written_bytes / GB, 1)} GB of this load: the end "
            "of a write cache, or the beginning of garbage collection"
        )
    else:
        yield "the lower level lasts"


_ABOVE_SENSOR: Final = tuple(
    Measure[TelemetrySeries](
        key,
        "{name}, " + label,
        "K",
        value,
        better=Better.UNJUDGED,
        decimals=1,
        of_steady_state=False,
        on_cover=False,
    )
    for key, label, value in (
        ("largest_k", "largest", lambda above: max(above.values)),
        ("mean_k", "mean of all readings", lambda above: fmean(above.values)),
    )
)


# HYP-TMP-02
def _temperature_measures(run: Run) -> Iterator[Measured]:
    """By how much the operator's meter was above the drive's sensor; none without both."""
    series = run.telemetry_series
    above = difference(series.get(EXTERNAL_TEMPERATURE), series.get("temperature_c"))
    if above is not None:
        subject = Subject("Operator's meter less the drive's sensor", "temperature.above_sensor")
        yield from (measure.of(above, subject) for measure in _ABOVE_SENSOR)


def with_drive_work(content: ReportContent, run: Run) -> ReportContent:
    """The content with measures and pages of energy, media writes and dips, as far as they are known."""
    work = DriveWork(run)

    @cache
    def found_dips() -> tuple[Loads, tuple[LoadDip, ...]]:
        loads = tuple(loads_of(work))
        found: list[LoadDip] = []
        for points in loads:
            written_bytes = list(accumulate((point.interval.write.bytes for point in points), initial=0))
            dips = dips_of(point.interval.bandwidth_bytes_per_s for point in points)
            found += (LoadDip(points, dip, written_bytes[dip.first]) for dip in dips)
        return loads, tuple(found)

    def pages(test: str) -> tuple[Page, ...]:
        # Many dips are a single line in print, which would be alone on a sheet if it came last.
        made = (dips_page(work, found_dips()[1], test), energy_page(work, test), media_page(work, test))
        return tuple(page for page in made if page is not None)

    def sections(standing: Standing, report_date: str) -> tuple[Section, ...]:
        """The pages are the last ones of the last section: they are of the run and not of one workload."""
        *first, last = content.sections(standing, report_date)
        return (*first, structs.replace(last, pages=(*last.pages, *pages(run.manifest.conditions.test))))

    return replace(
        content,
        measures=(
            *content.measures,
            *energy_measures(work),
            *media_measures(work),
            *_temperature_measures(run),
        ),
        sections=sections,
        conditions=lambda: (*content.conditions(), *dips_verdict(*found_dips())),
    )
