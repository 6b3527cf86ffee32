"""The report of thermal throttling (SOL-BMK-06, HYP-TMP-02)."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from openpts.pages import cells
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col
from openpts.pages.measure import Measure, Subject, key_of, measured
from openpts.pages.model import Cell, Page, Verdict
from openpts.pages.texts import NOT_REPORTED, NOT_STATED
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import transpose
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.better import Better
from openpts_practice.thermal import ThermalConditions
from openpts_practice.thermal.pages import course_page, curves, duty_cycle_page, scatter_page
from openpts_practice.thermal.phases import (
    NAMES,
    RULE,
    HeatingLoad,
    ThermalRun,
    highest_temperature_c,
    load_verdict,
)
from openpts_practice.thermal.results import merged

_TITLE: Final = "Thermal Throttling"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the record."""
    thermal = ThermalRun(run, run.conditions(ThermalConditions))
    return ReportContent(
        verdicts=tuple(load_verdict(thermal, number, name) for number, name in NAMES.items()),
        measures=tuple(
            one
            for number, name in NAMES.items()
            for one in measured(_MEASURES, thermal.loads.get(number), Subject(name))
        ),
        sections=methodology(thermal.run, _TITLE, _test_rows(thermal), lambda: _pages(thermal)),
        figures=lambda: {
            "loads": {key_of(name): _figures(thermal, number) for number, name in NAMES.items()}
        },
        curves=lambda: curves(thermal),
    )


def _first_throttle(load: HeatingLoad) -> Cell:
    first_ns = load.throttling.first_ns
    if first_ns is None:
        return cells.missing(f"no throttling seen in {format_duration(load.length_ns)}")
    return cells.number(first_ns / (60 * NS_PER_S), 1)


_NO_SUCH_TIME: Final = "no such time in the run"
_MEASURES: Final[tuple[Measure[HeatingLoad], ...]] = (
    # a time that should be long
    Measure("first_throttle", "{name}, time to first throttle", "min", _first_throttle, better=Better.HIGHER),
    Measure(
        "speed_before",
        "{name}, speed before",
        "MB/s",
        lambda load: load.throttling.before_bytes_per_s,
        per=MB,
        absent=_NO_SUCH_TIME,
        words="as long as it is not too hot",
    ),
    Measure(
        "speed_throttled",
        "{name}, speed throttled",
        "MB/s",
        lambda load: load.throttling.throttled_bytes_per_s,
        per=MB,
        absent=_NO_SUCH_TIME,
    ),
)


def _pages(measured: ThermalRun) -> tuple[Page, ...]:
    return (
        state_page(measured.run, "Purge and Pre-conditioning"),
        course_page(measured),
        _results_page(measured),
        scatter_page(measured),
        duty_cycle_page(measured),
    )


def _test_rows(measured: ThermalRun) -> Rows:
    conditions = measured.conditions
    lengths = [
        format_duration(load.length_ns) if (load := measured.loads.get(number)) else "NOT RUN"
        for number in NAMES
    ]
    return stimulus_rows(
        measured.run,
        ("Test Stimulus", f"SEQ {format_block_size(conditions.block_size_bytes)} W"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Cold run", lengths[0]),
        ("Warm run", lengths[1]),
        ("Duty cycle", lengths[2]),
        ("Busy / idle", f"{format_duration(conditions.busy_ns)} / {format_duration(conditions.idle_ns)}"),
        ("Air", "not stated" if conditions.ambient_c is None else f"{conditions.ambient_c:g} °C, as stated"),
        ("Cooling", conditions.airflow or NOT_STATED),
    )


def _figures(measured: ThermalRun, number: int) -> dict[str, Any] | None:
    """Key numbers of a load, JSON-ready."""
    load = measured.loads.get(number)
    if load is None:
        return None
    throttling = load.throttling
    return {
        "elapsed_s": load.length_ns / NS_PER_S,
        "written_bytes": load.written_bytes,
        "temperature_at_start_c": measured.temperature_at(load.started_ns),
        "highest_temperature_c": highest_temperature_c(load),
        "evidence": throttling.evidence.value,
        "first_throttle_s": None if throttling.first_ns is None else throttling.first_ns / NS_PER_S,
        "written_before_throttle_bytes": throttling.bytes_before,
        "before_bytes_per_s": throttling.before_bytes_per_s,
        "throttled_bytes_per_s": throttling.throttled_bytes_per_s,
        "throttled_share": throttling.share,
    }


_STATED: Final = "not stated"
_Value = Callable[[ThermalRun, HeatingLoad], Cell]


def _results_page(measured: ThermalRun) -> Page:
    """Every run in a column, and what surrounded them."""
    page_id, title = "thermal-results", "Thermal Throttling - Results"
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
    table = transpose(
        f"{page_id}-runs",
        "Cold run, warm run and duty cycle, apart",
        [Col(label, partial(value, measured)) for label, value in _ROWS],
        [(name, measured.loads.get(number)) for number, name in NAMES.items()],
        head=Col("", cells.words, align="left", width=1.6),
    )
    verdicts = [load_verdict(measured, number, name) for number, name in NAMES.items()]
    return Page(page_id, title, (table, *verdicts, Verdict(RULE), surroundings), mandatory=True)


def _temperature(value_c: float | None) -> Cell:
    return cells.number_or("not reported", value_c, 0)


def _first_rate(measured: ThermalRun, load: HeatingLoad) -> Cell:
    minute = merged(load.points, measured.conditions.minute_ns)[0]
    return cells.number(minute.bytes_per_s / MB, 1)


def _time_before(_measured: ThermalRun, load: HeatingLoad) -> Cell:
    first_ns = load.throttling.first_ns
    if first_ns is None:
        return cells.missing("none seen")
    return Cell(format_duration(first_ns), first_ns / NS_PER_S)


def _kept_share(_measured: ThermalRun, load: HeatingLoad) -> Cell:
    throttling = load.throttling
    if not throttling.before_bytes_per_s or throttling.throttled_bytes_per_s is None:
        return cells.missing("none seen")
    return cells.percent(100 * throttling.throttled_bytes_per_s / throttling.before_bytes_per_s)


def _throttled_share(_measured: ThermalRun, load: HeatingLoad) -> Cell:
    share = load.throttling.share
    return cells.missing("not known") if share is None else cells.percent(100 * share)


def _counted(name: str, decimals: int) -> _Value:
    def cell(_measured: ThermalRun, load: HeatingLoad) -> Cell:
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
    (
        "Written before the throttle (GB)",
        lambda _m, load: cells.number_or("none seen", load.throttling.bytes_before, 1, per=GB),
    ),
    (
        "Speed before the throttle (MB/s)",
        lambda _m, load: cells.number_or("throttled at once", load.throttling.before_bytes_per_s, 1, per=MB),
    ),
    (
        "Speed throttled (MB/s)",
        lambda _m, load: cells.number_or("none seen", load.throttling.throttled_bytes_per_s, 1, per=MB),
    ),
    ("Throttled / before (%)", _kept_share),
    ("Share of time throttled (%)", _throttled_share),
    ("Throttle events counted by the drive", _counted("throttle_events", 0)),
    ("Time throttled, counted by the drive (s)", _counted("throttled_s", 0)),
    ("Time above the warning limit (s)", _counted("warning_temperature_s", 0)),
    ("Time above the critical limit (s)", _counted("critical_temperature_s", 0)),
)
