"""The report of a rotational disk: rates over its zones, and what access costs."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, PlotName, page, page_of, table
from openpts.pages.measure import NOT_MEASURED, Measure, Measured, Subject
from openpts.pages.model import Block, Cell, Page, Verdict
from openpts.pages.texts import fact_text
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text, of_cycle, stimulus_rows, write_cache
from openpts.procedures.kit.steps import (
    IOPS,
    LONGEST,
    MEAN,
    THROUGHPUT,
    HasFigures,
    Metric,
    Row,
    direction,
    lines_over,
    order,
    pivot,
    rows_json,
    select,
)
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology
from openpts.procedures.shared.preparation_page import largest_gap
from openpts.record.reader import Run
from openpts.units import GB, MB, format_block_size, format_duration
from openpts.vocabulary.facts import has_platters, media_of
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Stimulus
from openpts_practice.hdd import RotationalConditions

Rates = Sequence[float]
"""Sequential bytes per second from the first zone to the last; empty unless all zones have one."""

_DIRECTIONS: Final = ("Read", "Write")
_ACCESS: Final = replace(MEAN, decimals=3, absent=NOT_MEASURED)
_KEYS: Final = {
    "first_pct": lambda stimulus: stimulus.active_range.start_pct,
    "last_pct": lambda stimulus: stimulus.active_range.end_pct,
    "pattern": order,
    "direction": lambda stimulus: direction(stimulus).lower(),
    "qd": lambda stimulus: stimulus.qd,
}


class RotationalRun(Struct, frozen=True):
    """The complete steps in the zones and over the whole range, and what was asked for."""

    run: Run
    asked: RotationalConditions
    zones: list[Row[Sample]]
    whole: list[Row[Sample]]

    @property
    def sequential(self) -> str:
        """Order and size of sequential accesses."""
        return f"SEQ {format_block_size(self.asked.sequential_block_size_bytes)}"

    @property
    def random(self) -> str:
        """Order and size of random accesses."""
        return f"RND {format_block_size(self.asked.random_block_size_bytes)}"

    def rates(self, way: str) -> Rates:
        """The course over the zones of ``way``, Read or Write."""
        return zone_rates(self.zones, self.asked.zones, way)

    def position_gb(self, pct: float) -> float:
        """A place in GB from the first LBA."""
        return pct / 100 * self.run.manifest.target.user_capacity_bytes / GB


def start_pct(stimulus: Stimulus) -> float:
    """Where the zone of a stimulus begins."""
    return stimulus.active_range.start_pct


def name_of(stimulus: Stimulus) -> str:
    """What tells the stimuli of a zone apart: ``Read`` in sequence, ``Read QD 32`` at random."""
    return f"{direction(stimulus)} QD {stimulus.qd}" if stimulus.random_pct else direction(stimulus)


def zone_rates(rows: Iterable[Row[HasFigures]], zones: int, way: str) -> Rates:
    """The course over so many zones of ``way``, Read or Write."""
    found = sorted(
        (start_pct(stimulus), measured.bandwidth_bytes_per_s)
        for stimulus, measured in rows
        if not stimulus.random_pct and direction(stimulus) == way and measured.bandwidth_bytes_per_s
    )
    return [rate for _, rate in found] if len(found) == zones else []


def harmonic_mean(rates: Rates) -> float | None:
    """The rate over equal amounts of each zone, each of which takes its own time."""
    return 1 / fmean(1 / rate for rate in rates) if rates else None


def last_to_first(rates: Rates) -> float | None:
    """Throughput of the last zone over that of the first; None of a single one."""
    return rates[-1] / rates[0] if len(rates) > 1 else None


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    disk = RotationalRun(
        run,
        run.conditions(RotationalConditions),
        select(run.phase(Phase.SWEEP)),
        select(run.phase(Phase.PROFILE)),
    )
    return ReportContent(
        verdicts=_verdicts(disk),
        measures=_measures(disk),
        sections=methodology(
            run,
            "Rotational Disk by Zones",
            _test_rows(disk),
            lambda: (_preparation_page(run), _throughput_page(disk), _access_page(disk)),
        ),
        figures=lambda: _figures(disk),
    )


def _verdicts(disk: RotationalRun) -> tuple[Verdict, ...]:
    """How much was measured, and whether the device is what the test is for."""
    planned, dut = disk.asked.zones, disk.run.manifest.dut
    begun = len({start_pct(stimulus) for stimulus, _ in disk.zones})
    counted = Verdict(
        f"{begun} of {planned} zones measured, each by {2 + 2 * len(disk.asked.qds)} stimuli.",
        "info" if begun == planned else "fail",
    )
    if has_platters(dut):
        return (counted,)
    other = Verdict(
        f"Media: {media_of(dut) or 'not reported'}. This test is made for rotational disks: other media have "
        "no zones, and their figures depend on what was written before.",
        "fail",
    )
    return (counted, other)


_OF_RATES: Final[tuple[Measure[Rates], ...]] = (
    Measure("all_zones", "{name}, all zones", "MB/s", harmonic_mean, per=MB, decimals=1),
    Measure("last_to_first", "{name}, last zone / first", "x", last_to_first, decimals=2),
)
_WHOLE_RANGE: Final = IOPS.measure("whole_range", "{name}, whole range")
_ACCESS_TIME: Final = _ACCESS.measure("mean_access_time", "Mean access time of reads, whole range")


def _measures(disk: RotationalRun) -> tuple[Measured, ...]:
    whole = {name_of(stimulus): sample for stimulus, sample in disk.whole}
    return (
        *(
            measure.of(disk.rates(way), Subject(f"{disk.sequential} {way[0]}"))
            for way in _DIRECTIONS
            for measure in _OF_RATES
        ),
        *(
            _WHOLE_RANGE.of(whole.get(f"{way} QD {qd}"), Subject(f"{disk.random} {way[0]} QD {qd}"))
            for qd in disk.asked.qds
            for way in _DIRECTIONS
        ),
        _ACCESS_TIME.of(whole.get(f"Read QD {min(disk.asked.qds)}")),
    )


def _test_rows(disk: RotationalRun) -> Rows:
    asked = disk.asked
    return stimulus_rows(
        disk.run,
        ("Test Stimulus 1", f"{disk.sequential} W, then R, in each zone"),
        ("TOIO - TC/QD", demand_text(asked.sequential_tc, asked.sequential_qd)),
        ("Test Stimulus 2", f"{disk.random} R and W, in each zone and over all"),
        ("TOIO - TC/QD", "TC 1 / QD " + " and ".join(map(str, asked.qds))),
        ("Zones", str(asked.zones)),
        ("Duration", f"{format_duration(asked.minute_ns)} each"),
        ("Media", fact_text(disk.run.manifest.dut, "media")),
        ("Steady State", NO_STEADY_STATE),
    )


def _figures(disk: RotationalRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    metrics = (THROUGHPUT, IOPS, MEAN)
    return {
        "zones": rows_json(disk.zones, _KEYS, metrics),
        "whole_range": rows_json(disk.whole, _KEYS, metrics),
        **{
            f"sequential_{way.lower()}_{what}": figure(disk.rates(way))
            for way in _DIRECTIONS
            for what, figure in (("bytes_per_s", harmonic_mean), ("last_to_first", last_to_first))
        },
    }


def _preparation_page(run: Run) -> Page:
    """What other tests do before, and why this one does not."""
    cache = of_cycle(run.manifest.write_caches, 1)
    items = [
        ("Write cache required", cache.required if cache else "not recorded"),
        ("Write cache found", write_cache(cache)),
        ("Largest gap between steps", largest_gap(run)),
    ]
    return page(
        PlotName("hdd-preparation", "", "Preparation"),
        Verdict("No purge: a platter is overwritten in place, so that its write history does not matter."),
        Verdict("No preconditioning and no steady state, for the same reason."),
        items_table("hdd-preparation-items", "Write cache, and time without I/O", items),
    )


def _throughput_page(disk: RotationalRun) -> Page:
    """Sequential throughput over the position."""
    name = PlotName("hdd-throughput", "Plot X-HDD-1", "Throughput v Position")
    shown = _over_zones(disk, name, f"{disk.sequential}, MB/s by zone", _DIRECTIONS, THROUGHPUT)
    return page_of(name, *shown, absent="no zone was measured")


def _access_page(disk: RotationalRun) -> Page:
    """Random IOPS over the position, and over the whole range with their access times."""
    name = PlotName("hdd-access", "Plot X-HDD-2", "Random Access v Position")
    stimuli = [f"{way} QD {qd}" for qd in disk.asked.qds for way in _DIRECTIONS]
    shown = _over_zones(disk, name, f"{disk.random} within a zone, IOPS", stimuli, IOPS)
    metrics = (IOPS, _ACCESS, replace(LONGEST, label="Max (ms)", decimals=3, absent=NOT_MEASURED))
    whole = table(
        f"{name.id}-whole",
        f"{disk.random} over the whole range",
        Col("Stimulus", lambda row: Cell(name_of(row[0])), align="left", width=0),
        [metric.column(_sample) for metric in metrics],
        disk.whole,
        note="At QD 1 the mean is the access time: arm movement, half a turn, and transfer.",
    )
    return page_of(name, *shown, whole if disk.whole else None, absent="no random access was measured")


def _sample(row: Row[Sample]) -> Sample:
    return row[1]


def _over_zones(
    disk: RotationalRun, on: PlotName, title: str, stimuli: Sequence[str], metric: Metric[HasFigures]
) -> tuple[Block, ...]:
    """A metric of the named stimuli over the zones, as a plot and a table; nothing if none was measured."""
    found = pivot(disk.zones, start_pct, name_of)
    if found.columns.isdisjoint(stimuli):
        return ()
    head: Col[float] = Col("Zone begins at (GB)", lambda pct: cells.number(disk.position_gb(pct), 1), width=0)
    shown = found.table(f"{on.id}-table", title, head, {name: name for name in stimuli}, metric)
    x = ticks.linear_axis(head.label, 0, disk.position_gb(max(found.by_row)))
    what = disk.random if metric is IOPS else disk.sequential
    return lines_over(
        shown, PlotName(shown.id, on.number, f"{what} v position"), x, metric.unit, "zones"
    ), shown
