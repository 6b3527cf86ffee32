"""The report of thermal throttling (SOL-BMK-06, HYP-TMP-02)."""

from typing import Any, Final

from openpts.pages import cells
from openpts.pages.measure import Measure, Subject, key_of, measured
from openpts.pages.model import Cell, Page
from openpts.pages.texts import NOT_STATED
from openpts.procedures.extended.thermal.conditions import ThermalConditions
from openpts.procedures.extended.thermal.pages import course_page, curves, duty_cycle_page, scatter_page
from openpts.procedures.extended.thermal.phases import NAMES, Load, ThermalRun
from openpts.procedures.extended.thermal.table import results_page
from openpts.procedures.extended.thermal.words import highest_temperature_c, load_verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.better import Better

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
        figures={"loads": {key_of(name): _figures(thermal, number) for number, name in NAMES.items()}},
        curves=lambda: curves(thermal),
    )


def _first_throttle(load: Load) -> Cell:
    first_ns = load.throttling.first_ns
    if first_ns is None:
        return cells.missing(f"no throttling seen in {format_duration(load.length_ns)}")
    return cells.number(first_ns / (60 * NS_PER_S), 1)


_NO_SUCH_TIME: Final = "no such time in the run"
_MEASURES: Final[tuple[Measure[Load], ...]] = (
    # a time that should be long
    Measure("first_throttle", "{name}, time to first throttle", "min", _first_throttle, better=Better.HIGHER),
    Measure(
        "speed_before",
        "{name}, speed before",
        "MB/s",
        lambda load: load.throttling.before_bytes_per_s,
        per=MB,
        absent=_NO_SUCH_TIME,
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
        results_page(measured),
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
