"""The table of thermal throttling: every run in a column, and what surrounded them."""

from collections.abc import Callable
from typing import Final

from openpts.pages import cells
from openpts.pages.facts_table import items_table
from openpts.pages.kit import rows_table
from openpts.pages.model import Cell, Column, Page, Verdict
from openpts.pages.texts import NOT_REPORTED
from openpts.procedures.extended.thermal.phases import NAMES, Load, ThermalRun
from openpts.procedures.extended.thermal.results import merged
from openpts.procedures.extended.thermal.words import RULE, highest_temperature_c, load_verdict
from openpts.units import GB, MB, NS_PER_S, format_duration

_STATED: Final = "not stated"
_Value = Callable[[ThermalRun, Load], Cell]


def results_page(measured: ThermalRun) -> Page:
    """Every run in a column, and what surrounded them."""
    page_id, title = "thermal-results", "Thermal Throttling - Results"
    loads = [measured.loads.get(number) for number in NAMES]
    conditions = measured.conditions
    limits = [
        (label, NOT_REPORTED if value is None else f"{value:.0f} °C")
        for label, value in (
            ("Warning limit of the drive (WCTEMP)", measured.limit_c("warning_limit_c")),
            ("Critical limit of the drive (CCTEMP)", measured.limit_c("critical_limit_c")),
        )
    ]
    sources = dict.fromkeys(health.reading.source for health in measured.run.health)
    surroundings = items_table(
        f"{page_id}-surroundings",
        "Surroundings and sources of temperatures",
        [
            (
                "Air around the drive",
                _STATED if conditions.ambient_c is None else f"{conditions.ambient_c:g} °C, as stated",
            ),
            ("Cooling", conditions.airflow or _STATED),
            ("Log of the drive", "; ".join(sources) or NOT_REPORTED),
            *limits,
        ],
    )
    table = rows_table(
        f"{page_id}-runs",
        "Cold run, warm run and duty cycle, apart",
        (":<1.6", *(Column(name) for name in NAMES.values())),
        (
            (label, *(_MISSING if load is None else value(measured, load) for load in loads))
            for label, value in _ROWS
        ),
    )
    verdicts = [load_verdict(measured, number, name) for number, name in NAMES.items()]
    return Page(page_id, title, (table, *verdicts, Verdict(RULE), surroundings), mandatory=True)


_MISSING: Final = cells.missing("not measured")


def _temperature(value_c: float | None) -> Cell:
    return cells.number_or("not reported", value_c, 0)


def _rate(value: float | None, reason: str) -> Cell:
    return cells.missing(reason) if value is None else cells.number(value / MB, 1)


def _first_rate(measured: ThermalRun, load: Load) -> Cell:
    minute = merged(load.points, measured.conditions.minute_ns)[0]
    return cells.number(minute.bytes_per_s / MB, 1)


def _time_before(_measured: ThermalRun, load: Load) -> Cell:
    first_ns = load.throttling.first_ns
    if first_ns is None:
        return cells.missing("none seen")
    return Cell(format_duration(first_ns), first_ns / NS_PER_S)


def _bytes_before(_measured: ThermalRun, load: Load) -> Cell:
    before = load.throttling.bytes_before
    return cells.missing("none seen") if before is None else cells.number(before / GB, 1)


def _kept_share(_measured: ThermalRun, load: Load) -> Cell:
    throttling = load.throttling
    if not throttling.before_bytes_per_s or throttling.throttled_bytes_per_s is None:
        return cells.missing("none seen")
    return cells.percent(100 * throttling.throttled_bytes_per_s / throttling.before_bytes_per_s)


def _throttled_share(_measured: ThermalRun, load: Load) -> Cell:
    share = load.throttling.share
    return cells.missing("not known") if share is None else cells.percent(100 * share)


def _counted(name: str, decimals: int) -> _Value:
    def cell(_measured: ThermalRun, load: Load) -> Cell:
        value = load.counted(name)
        return cells.number_or("not in the log", value, decimals)

    return cell


_ROWS: Final[tuple[tuple[str, _Value], ...]] = (
    ("Length", lambda _m, load: Cell(format_duration(load.length_ns), load.length_ns / NS_PER_S)),
    ("Written (GB)", lambda _m, load: cells.number(load.written_bytes / GB, 1)),
    ("Temperature at the start (°C)", lambda m, load: _temperature(m.temperature_at(load.started_ns))),
    ("Highest temperature (°C)", lambda _m, load: _temperature(highest_temperature_c(load))),
    ("First minute (MB/s)", _first_rate),
    ("Time to the first throttle", _time_before),
    ("Written before the throttle (GB)", _bytes_before),
    (
        "Speed before the throttle (MB/s)",
        lambda _m, load: _rate(load.throttling.before_bytes_per_s, "throttled at once"),
    ),
    ("Speed throttled (MB/s)", lambda _m, load: _rate(load.throttling.throttled_bytes_per_s, "none seen")),
    ("Throttled / before (%)", _kept_share),
    ("Share of time throttled (%)", _throttled_share),
    ("Throttle events counted by the drive", _counted("throttle_events", 0)),
    ("Time throttled, counted by the drive (s)", _counted("throttled_s", 0)),
    ("Time above the warning limit (s)", _counted("warning_temperature_s", 0)),
    ("Time above the critical limit (s)", _counted("critical_temperature_s", 0)),
)
