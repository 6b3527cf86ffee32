"""Energy of each part of a run: the measures, and the page with their table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct

from openpts.procedures.kit.drive_work.work import DriveWork, PhaseWork
from openpts.record.reader import StepRecord
from openpts.units import NS_PER_S
from openpts.vocabulary.better import Better
from openpts_pages import cells
from openpts_pages.kit import Col, table
from openpts_pages.measure import Measure, Measured, Subject, key_of
from openpts_pages.model import Cell, Page, Verdict

_ABSENT: Final = "too few samples"
NO_METER: Final = "nothing metered the drive: see --power-command"


class _Figure(Struct, frozen=True):
    """A figure of a part: a measure, and a column."""

    key: str
    column: str
    label: str
    unit: str
    better: Better
    decimals: int
    value: Callable[[PhaseWork], float | None]

    def measure(self) -> Measure[PhaseWork]:
        return Measure(
            self.key,
            f"{{name}}, {self.label}",
            self.unit,
            self.value,
            better=self.better,
            decimals=self.decimals,
            absent=_ABSENT,
            of_steady_state=False,
            on_cover=False,
        )

    def cell(self, part: PhaseWork) -> Cell:
        value = self.value(part)
        if value is not None:
            return cells.number(value, self.decimals)
        return cells.none() if part.mean_w is not None else cells.missing(_ABSENT)


def _milli(value: float | None) -> float | None:
    return None if value is None else 1000 * value


_MEAN_W: Final = _Figure("mean_w", "Mean (W)", "mean power", "W", Better.LOWER, 3, lambda part: part.mean_w)
_READ: Final = _Figure(
    "j_per_gb_read", "J/GB read", "energy", "J/GB", Better.LOWER, 2, lambda part: part.j_per_gb_read
)
_WRITTEN: Final = _Figure(
    "j_per_gb_written", "J/GB written", "energy", "J/GB", Better.LOWER, 2, lambda part: part.j_per_gb_written
)
_FIGURES: Final = (
    _MEAN_W,
    _Figure("joules", "Energy (J)", "energy", "J", Better.UNJUDGED, 1, lambda part: part.joules),
    _READ,
    _WRITTEN,
    _Figure(
        "mj_per_io", "mJ/I/O", "energy of an I/O", "mJ", Better.LOWER, 4, lambda part: _milli(part.j_per_io)
    ),
    _Figure(
        "iops_per_w", "IOPS/W", "IOPS per watt", "IOPS/W", Better.HIGHER, 0, lambda part: part.iops_per_w
    ),
    _Figure("gb_per_kwh", "GB/kWh", "GB per kWh", "GB/kWh", Better.HIGHER, 0, lambda part: part.gb_per_kwh),
)


_WINDOWS: Final = (
    _Figure(
        "largest_second_w",
        "Most in 1 s (W)",
        "largest mean of a second",
        "W",
        Better.LOWER,
        3,
        lambda part: part.largest_mean_w,
    ),
    _Figure("peak_w", "Peak, 100 us (W)", "peak of 100 us", "W", Better.LOWER, 3, lambda part: part.peak_w),
)
"""The windows of OCP (PCM-1, PCM-2), of meters that are fast enough."""


def _windows(work: DriveWork) -> tuple[_Figure, ...]:
    """OCP's windows that the meter tells of any part."""
    return tuple(figure for figure in _WINDOWS if any(figure.value(part) is not None for part in work.parts))


def _of_whole(
    battery: tuple[_Figure, ...],
) -> tuple[tuple[str, str, Callable[[PhaseWork], bool], tuple[_Figure, ...]], ...]:
    """Name, key, which parts, and what is compared of them all together."""
    return (
        ("All loads", "loads", lambda part: not part.is_idle, (_MEAN_W, *battery)),
        (
            "All that only reads",
            "reads",
            lambda part: bool(part.read_bytes and not part.written_bytes),
            (_READ,),
        ),
        (
            "All that only writes",
            "writes",
            lambda part: bool(part.written_bytes and not part.read_bytes),
            (_WRITTEN,),
        ),
        ("Idle", "idle", lambda part: part.is_idle, (_MEAN_W,)),
    )


def _battery(battery_wh: float | None) -> tuple[_Figure, ...]:
    if battery_wh is None:
        return ()
    label = f"a battery of {battery_wh:g} Wh lasts"
    column = f"{battery_wh:g} Wh last (h)"
    return (
        _Figure("battery_h", column, label, "h", Better.HIGHER, 1, lambda part: part.battery_h(battery_wh)),
    )


def energy_measures(work: DriveWork) -> Iterator[Measured]:
    """Key values of all loads and of idle time, and all figures of each part; none without a meter."""
    if work.meter is None:
        return
    battery = _battery(work.run.manifest.conditions.battery_wh)
    for name, key, chosen, figures in _of_whole(battery):
        if (whole := work.whole(name, chosen)) is not None:
            yield from (figure.measure().of(whole, Subject(name, f"energy.{key}")) for figure in figures)
    for part in work.parts:
        subject = Subject(part.name, f"energy.{key_of(part.name)}")
        found = (
            replace(figure.measure(), is_key=False).of(part, subject)
            for figure in (*_FIGURES, *_windows(work), *battery)
        )
        yield from (one for one in found if one.value is not None)


# PTS-IOPS-35, PTS-HIR-27, PTS-XSR-25
def power_cell(work: DriveWork, steps: Sequence[StepRecord]) -> Cell:
    """Average power of some steps in mW, for the secondary tables of the specification."""
    if work.meter is None:
        return cells.words("not measured", tone="missing", note=NO_METER)
    mean_w = work.part("", steps).mean_w
    return cells.missing(_ABSENT) if mean_w is None else cells.number(1000 * mean_w, 0)


def efficiency_cell(work: DriveWork, steps: Sequence[StepRecord]) -> Cell:
    """IOPS/W of some steps."""
    iops_per_w = work.part("", steps).iops_per_w
    return cells.missing(_ABSENT) if iops_per_w is None else cells.number(iops_per_w, 0)


def energy_page(work: DriveWork, prefix: str) -> Page | None:
    """The table of all parts; None where nothing measured the drive's power."""
    if work.meter is None or not work.parts:
        return None
    page_id = f"{prefix}-energy"
    figures = (*_FIGURES, *_windows(work), *_battery(work.run.manifest.conditions.battery_wh))
    shown = table(
        page_id,
        "Energy of each part",
        Col("PhaseWork", lambda part: Cell(part.name), align="left", width=2.6),
        (
            Col("Time (s)", lambda part: cells.number(part.elapsed_ns / NS_PER_S, 1)),
            *(Col(figure.column, figure.cell) for figure in figures),
            Col("Covered (%)", lambda part: cells.percent(part.coverage_pct)),
        ),
        work.parts,
        note="Mean power over the covered time; energy of all the time at that power. J/GB where a part only "
        "reads or only writes. IOPS/W is I/Os per joule. n/a where less than half of the time is covered.",
    )
    source = Verdict(f"Power of the drive: {work.meter[1]}, integrated over each step.")
    return Page(page_id, "Energy", (source, shown), mandatory=False)
