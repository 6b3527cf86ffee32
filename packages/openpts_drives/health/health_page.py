"""Device health before and after a run: all that its own log has, and what the run did to it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from openpts.procedures.kit.header import date_and_time
from openpts.record.health import HealthRecord, ReadingPoint, around
from openpts.record.reader import Run
from openpts.units import GB, MIB, format_count
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Page, Table, Verdict
from openpts_pages.texts import NOT_REPORTED, capitalised, fact_text
from openpts_work.counters import COUNTERS, change, write_amplification


class _Field(NamedTuple):
    title: str
    unit: str = ""
    divisor: float = 1
    decimals: int = 0


_FIELDS: Final = {
    "temperature_c": _Field("Temperature", "°C"),
    "warning_limit_c": _Field("Warning temperature", "°C"),
    "critical_limit_c": _Field("Critical temperature", "°C"),
    "critical_warning": _Field("Critical warning (bits)"),
    "read_only": _Field("Read-only (1: yes)"),
    "failure_foretold": _Field("Failure predicted (1: yes)"),
    "available_spare_pct": _Field("Available spare", "%"),
    "available_spare_threshold_pct": _Field("Available spare, threshold", "%"),
    "percentage_used_pct": _Field("Percentage used of rated life", "%", decimals=2),
    "host_read_bytes": _Field("Host read", "GB", GB, 1),
    "host_write_bytes": _Field("Host written", "GB", GB, 1),
    "nand_write_bytes": _Field("Media written", "GB", GB, 1),
    "nand_read_bytes": _Field("Media read", "GB", GB, 1),
    "host_write_unit_bytes": _Field("Host written, counted in steps of", "MiB", MIB),
    "host_read_unit_bytes": _Field("Host read, counted in steps of", "MiB", MIB),
    "nand_write_unit_bytes": _Field("Media written, counted in steps of", "MiB", MIB),
    "host_read_commands": _Field("Host read commands"),
    "host_write_commands": _Field("Host write commands"),
    "erases": _Field("Erases"),
    "erase_count_mean": _Field("Erase count, mean", decimals=1),
    "erase_count_max": _Field("Erase count, highest"),
    "bad_superblocks": _Field("Bad superblocks"),
    "media_errors": _Field("Media and data integrity errors"),
    "reallocated_sectors": _Field("Reallocated sectors or blocks"),
    "pending_sectors": _Field("Pending sectors"),
    "grown_defects": _Field("Grown defects"),
    "bad_user_blocks": _Field("Bad blocks, user area"),
    "bad_system_blocks": _Field("Bad blocks, system area"),
    "error_log_entries": _Field("Error log entries"),
    "throttle_events": _Field("Throttle events"),
    "drive_throttle_events": _Field("Throttle events by the drive itself"),
    "throttle_level": _Field("Throttle level (0: none)"),
    "throttled_s": _Field("Time throttled", "s"),
    "warning_temperature_s": _Field("Time above warning temperature", "s"),
    "critical_temperature_s": _Field("Time above critical temperature", "s"),
    "power_on_hours": _Field("Power on", "h"),
    "power_cycles": _Field("Power cycles"),
    "unsafe_shutdowns": _Field("Unsafe shutdowns"),
    "busy_s": _Field("Controller busy", "s"),
    "energy_j": _Field("Energy", "J"),
}
_SENSOR: Final = re.compile(r"temperature_sensor_(\d+)_c")

# counters that stand for an error or a reset of the drive; the texts for one event and for several
_ERRORS: Final = {
    "media_errors": ("media error", "media errors"),
    "bad_superblocks": ("superblock went bad", "superblocks went bad"),
    "reallocated_sectors": ("sector reallocated", "sectors reallocated"),
    "grown_defects": ("grown defect", "grown defects"),
    "bad_user_blocks": ("block went bad", "blocks went bad"),
    "bad_system_blocks": ("block of the system area went bad", "blocks of the system area went bad"),
    "unsafe_shutdowns": ("unsafe shutdown", "unsafe shutdowns"),
    "power_cycles": ("power cycle", "power cycles"),
    "throttle_events": ("time throttled by heat", "times throttled by heat"),
    "drive_throttle_events": ("time slowed down by itself", "times slowed down by itself"),
    "critical_temperature_s": ("s above the critical temperature", "s above the critical temperature"),
}
_KINDS_OF_EVENTS: Final = {
    ("error", "errors"): {
        "media_errors",
        "reallocated_sectors",
        "grown_defects",
        "bad_user_blocks",
        "bad_superblocks",
    },
    ("reset", "resets"): {"power_cycles", "unsafe_shutdowns"},
    ("throttling", "throttling"): {"throttle_events", "drive_throttle_events", "critical_temperature_s"},
}
_STATES: Final = {
    "critical_warning": "critical warning of the drive's log set",
    "read_only": "drive is read-only",
    "failure_foretold": "the drive predicts its own failure",
}


def health_page(run: Run) -> Page:
    """Before, after and difference of every value of the log; red lines for errors and resets."""
    return Page("device-health", "Device Health Before and After", _blocks(run))


def health_alerts(run: Run) -> tuple[str, ...]:
    """Errors, resets and throttling that the drive's log, or its link, counted during the run: red lines."""
    first, last = around(run.health)
    if first is None or last is None:
        return _link_alerts(run)
    before, after = first.reading.values, last.reading.values
    alerts = [
        f"device health: {_amount(went)} {texts[went != 1]} during the run"
        for name, texts in _ERRORS.items()
        if (went := change(before, after, name))
    ]
    alerts += [f"device health: {text}" for name, text in _STATES.items() if after.get(name)]
    return (*alerts, *_link_alerts(run))


def counted_events(run: Run, kind: str) -> tuple[str, ...] | None:
    """What the log counted during the run: ``error``, ``reset``, ``throttling``; None: it counts none."""
    first, last = around(run.health)
    if first is None or last is None:
        return None
    before, after = first.reading.values, last.reading.values
    names = next(names for (one, _), names in _KINDS_OF_EVENTS.items() if one == kind)
    counted = [name for name in _ERRORS if name in names and name in before and name in after]
    return (
        tuple(
            f"{_amount(went)} {_ERRORS[name][went != 1]}"
            for name in counted
            if (went := change(before, after, name))
        )
        if counted
        else None
    )


def _link_alerts(run: Run) -> tuple[str, ...]:
    """Errors of the PCIe link, where its counters continued."""
    before, after = (
        _counts(fact_text(facts, "aer", "")) for facts in (run.manifest.host_before, run.manifest.host_after)
    )
    return tuple(
        f"PCIe link: {format_count(went, f'{name} error')} during the run"
        for name, count in after.items()
        if name in before and (went := count - before[name]) > 0
    )


def _counts(text: str) -> dict[str, int]:
    """``correctable 3, fatal 0`` taken apart."""
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", text)}


def _amount(value: float) -> str:
    return cells.fixed(value, 0 if value == int(value) else 1)


def _blocks(run: Run) -> tuple[Block, ...]:
    first, last = around(run.health)
    if first is None:
        return (Verdict("not reported (the record holds no reading of the device's log)."),)
    before = first.reading.values
    after = {} if last is None else last.reading.values
    during = sum(record.occasion is ReadingPoint.DURING for record in run.health)
    readings = items_table(
        "device-health-readings",
        "Readings",
        [
            *(
                (when, f"{date_and_time(record.read_at)}: {record.reading.source}")
                for when, record in _named_readings(run)
            ),
            ("During the run", f"{during:,}"),
        ],
    )
    if not before and not after:
        return (Verdict(f"not reported ({first.reading.source})."), readings)
    return (*_verdicts(run), _summary(before, after), _log(before, after), readings)


def _verdicts(run: Run) -> list[Verdict]:
    if alerts := health_alerts(run):
        return [Verdict(f"{capitalised(alert)}.", "fail") for alert in alerts]
    for record, when in zip(around(run.health), ("before", "after"), strict=True):
        if record is None:
            return [Verdict(f"not reported (the log was not read {when} the run).", "fail")]
        if not record.reading.values:
            source = record.reading.source
            return [Verdict(f"not reported (the log {when} the run: {source}).", "fail")]
    return [Verdict(f"The device's log {_nothing_happened(run)}.", "pass")]


def _nothing_happened(run: Run) -> str:
    """What did not happen, as far as the log would have counted it."""
    counted = set.intersection(
        *(set(record.reading.values) for record in around(run.health) if record is not None)
    )
    known = [f"no {one}" for (one, _), names in _KINDS_OF_EVENTS.items() if counted & names]
    unknown = [many for (_, many), names in _KINDS_OF_EVENTS.items() if not counted & names]
    nothing = f"counted {_listed(known, 'and')} during the run" if known else ""
    blind = f"does not count {_listed(unknown, 'or')}" if unknown else ""
    return "; it ".join(text for text in (nothing, blind) if text)


def _listed(names: Sequence[str], conjunction: str) -> str:
    *first, last = names
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _summary(before: Mapping[str, float], after: Mapping[str, float]) -> Table:
    """What the run cost the drive."""
    gb = (
        ("Host wrote", "host_write_bytes"),
        ("Host read", "host_read_bytes"),
        ("Written to the media", "nand_write_bytes"),
    )
    items: list[tuple[str, str | Cell]] = [
        (title, _quantity(change(before, after, name), "GB", GB, 1)) for title, name in gb
    ]
    ratio = write_amplification(before, after)
    items.append(("Write amplification (WAF)", _quantity(ratio, "", 1, 3)))
    items.append(("Rated life used by this run", _wear(before, after)))
    return items_table(
        "device-health-summary",
        "What the run did",
        items,
        note="WAF: bytes written to the media per byte that the host wrote; n/a where a counter rose by "
        "fewer than 50 of its steps.",
    )


def _wear(before: Mapping[str, float], after: Mapping[str, float]) -> str | Cell:
    """The rated life that the run used; most logs count it in whole per cents."""
    name = "percentage_used_pct"
    worn = _difference(before, after, name)
    whole = all(float(log.get(name, 0)).is_integer() for log in (before, after))
    if worn == 0 and whole:
        return "unchanged (counted in whole per cents)"
    return _quantity(worn, "%", 1, 0 if whole else 2)


def _difference(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    first, last = before.get(name), after.get(name)
    return None if first is None or last is None else last - first


def _quantity(value: float | None, unit: str, divisor: float, decimals: int) -> Cell:
    if value is None:
        return Cell(NOT_REPORTED, tone="missing")
    return Cell(cells.fixed(value / divisor, decimals, unit), value / divisor)


def _log(before: Mapping[str, float], after: Mapping[str, float]) -> Table:
    names = [*_FIELDS, *sorted({*before, *after} - set(_FIELDS))]
    return rows_table(
        "device-health",
        "The device's log",
        "Item:<2 | Before | After | Difference",
        (_row(name, before, after) for name in names if name in before or name in after),
        note="GB are 10^9 bytes. Items that the log does not have are left out.",
    )


def _row(name: str, before: Mapping[str, float], after: Mapping[str, float]) -> Cells:
    field = _field(name)
    if field.divisor == 1 and all(float(log.get(name, 0)).is_integer() for log in (before, after)):
        field = field._replace(decimals=0)
    title = f"{field.title} ({field.unit})" if field.unit else field.title
    return (
        title,
        _value(field, before.get(name)),
        _value(field, after.get(name)),
        _delta(field, name, before, after),
    )


def _field(name: str) -> _Field:
    if name in _FIELDS:
        return _FIELDS[name]
    if sensor := _SENSOR.fullmatch(name):
        return _Field(f"Temperature, sensor {sensor[1]}", "°C")
    return _Field(name, decimals=1)


def _value(field: _Field, value: float | None) -> Cell:
    if value is None:
        return Cell(NOT_REPORTED, tone="missing")
    return cells.number(value / field.divisor, field.decimals)


def _delta(field: _Field, name: str, before: Mapping[str, float], after: Mapping[str, float]) -> Cell:
    """The difference of a counter, which can't be less than nothing, or of a state."""
    difference = _difference(before, after, name)
    if difference is None:
        return cells.missing("missing in one reading")
    if name in COUNTERS and difference < 0:
        return cells.missing("the counter decreased")
    tone = "fail" if name in {*_ERRORS, *_STATES} and difference > 0 else ""
    value = difference / field.divisor
    return Cell(cells.signed(value, field.decimals), value, tone=tone)


def _named_readings(run: Run) -> list[tuple[str, HealthRecord]]:
    """The readings around the run, and between its attempts if it was resumed."""
    names = {
        ReadingPoint.BEFORE: "Before the run",
        ReadingPoint.AFTER: "After an attempt that was cut off",
        ReadingPoint.RESUMED: "Before the run was resumed",
    }
    last = around(run.health)[1]
    return [
        ("After the run" if record is last else names[record.occasion], record)
        for record in run.health
        if record.occasion in names
    ]
