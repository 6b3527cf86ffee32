"""The key values of a run: the few figures that a buyer compares, defined once for all reports.

Executive summary and comparison read them here, out of what a test's report already holds: nothing is
computed again. A test without an entry has the rows of its cover's summary.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.pages import cells
from openpts.pages.model import Cell
from openpts.record.reader import Run
from openpts.report.content import TestContent
from openpts.units import KIB, NS_PER_MS, format_latency_ms
from openpts.vocabulary.better import Better


@dataclass(frozen=True, slots=True)
class KeyValue:
    """``name`` is the same in each run of a test, so that runs can be put beside each other.

    ``value`` is in ``unit`` and unrounded, None if it was not measured; ``text`` is what a report prints
    without the unit, ``n/a`` then. ``note`` belongs to the value: the operating point, a reason, a low count.
    ``state`` says that the value is not one of steady state where the test looks for it; empty if it is.
    ``stands_in``: the maximum stands in for a percentile that the I/Os do not suffice for: it is shown, but
    compared with nothing.
    """

    name: str
    unit: str
    value: float | None
    text: str
    better: Better
    note: str = ""
    stands_in: bool = False
    state: str = ""

    @property
    def cell(self) -> Cell:
        """The value in a table; tells where it is missing."""
        note = "; ".join(word for word in (self.note, self.state) if word)
        return Cell(self.text, self.value, note, "missing" if self.value is None else "")


def key_values(run: Run, content: TestContent) -> tuple[KeyValue, ...]:
    """The key values of a run in the order in which they are shown; ``content`` is of the same run."""
    of_test = _OF_TEST.get(run.manifest.conditions.test, _summarised)
    return of_test(content)


_READ_PCTS: Final = (0, 65, 100)
_KEY_BLOCK_SIZE_BYTES: Final = 4 * KIB
_LONGEST_WAIT_STATE: Final = 10
_NOT_MEASURED: Final = "not measured"
# Of figures that a test gives only by its summary, the unit tells which way is better.
_BETTER_BY_UNIT: Final = {
    "IOPS": Better.HIGHER,
    "MB/s": Better.HIGHER,
    "GB/s": Better.HIGHER,
    "GB": Better.HIGHER,
    "score": Better.HIGHER,
    "IOPS/W": Better.HIGHER,
    "ms": Better.LOWER,
    "us": Better.LOWER,
    "s": Better.LOWER,
    "min": Better.LOWER,
}


def _iops(content: TestContent) -> tuple[KeyValue, ...]:
    state = _not_steady(content.figures["steady_state"])
    found = {
        (cell["block_size_bytes"], cell["read_pct"]): cell["iops"]
        for cell in content.figures["iops"]
        if cell["access_pattern"] == "random"
    }
    return tuple(
        _rate(f"RND 4 KiB RW{read_pct}", "IOPS", found.get((_KEY_BLOCK_SIZE_BYTES, read_pct)), state=state)
        for read_pct in _READ_PCTS
    )


def _throughput(content: TestContent) -> tuple[KeyValue, ...]:
    return tuple(
        _rate(
            f"{cycle['title']} {'R' if entry['read_pct'] else 'W'}",
            "MB/s",
            entry["mb_per_s"],
            state=_not_steady(cycle["steady_state"]),
        )
        for cycle in content.figures["cycles"]
        for entry in cycle["throughput"]
    )


def _latency(content: TestContent) -> tuple[KeyValue, ...]:
    # the summary holds the five nines as the specification wants them: with too few I/Os, the maximum
    short_of_ios = {
        f"RND 4 KiB RW{cell['read_pct']}, 5 9s"
        for cell in content.figures["iops"]
        if cell["block_size_bytes"] == _KEY_BLOCK_SIZE_BYTES and cell["p99_999_ms"] is None
    }
    state = _not_steady(content.figures["steady_state"])
    return tuple(
        _in_state(replace(_of_row(name, cell, unit, Better.LOWER), stands_in=name in short_of_ios), state)
        for name, cell, unit in _rows(content)
    )


def _saturation(content: TestContent) -> tuple[KeyValue, ...]:
    values: list[KeyValue] = []
    for workload in content.figures["workloads"]:
        zones, steady = workload["zones"] or {}, workload["steady_state"]
        ratio = zones.get("plateau_to_end_zone_ratio")
        reason = "end zone not reached" if zones else _NOT_MEASURED
        title, found = workload["title"], f"Steady State {steady['state']}"
        state = "" if steady["reached"] and not steady["ends_elsewhere"] else found
        values += [
            _rate(f"{title}, Steady State", "IOPS", steady["average_iops"], reason=found, state=state),
            _rate(f"{title}, end zone", "IOPS", zones.get("end_zone_iops"), reason=reason, state=state),
            _rate(f"{title}, FOB", "IOPS", zones.get("plateau_iops")),
            _valued(
                f"{title}, FOB/end zone ratio",
                "ratio",
                ratio,
                None if ratio is None else cells.fixed(ratio, 2),
                Better.UNJUDGED,
                reason=reason,
                state=state,
            ),
        ]
    return tuple(values)


def _idle_recovery(content: TestContent) -> tuple[KeyValue, ...]:
    baseline = content.figures["baseline"] or {}
    gain_pct = next(
        (
            state["gain_pct"]
            for state in content.figures["wait_states"]
            if state["number"] == _LONGEST_WAIT_STATE
        ),
        None,
    )
    return (
        _rate("Baseline", "IOPS", baseline.get("iops")),
        _valued(
            f"Gain of WS {_LONGEST_WAIT_STATE} over the baseline",
            "%",
            gain_pct,
            None if gain_pct is None else cells.signed(gain_pct, 1),
            Better.HIGHER,
            reason="not reached",
        ),
    )


def _cross_stimulus(content: TestContent) -> tuple[KeyValue, ...]:
    recovery_min = content.figures["recovery_to_peak_min"]
    return (
        _valued(
            "Recovery to the peak",
            "min",
            recovery_min,
            None if recovery_min is None else cells.fixed(recovery_min, 2),
            Better.LOWER,
            reason="not reached",
        ),
    )


def _demand(content: TestContent) -> tuple[KeyValue, ...]:
    chosen = content.figures["chosen_points"]
    if chosen is None:
        return (_rate("MaxIOPS", "IOPS", None), _time("ART at MaxIOPS", None))
    maximum = chosen["max"]
    point = f"TC {maximum['tc']} / QD {maximum['qd']}"
    note = point if chosen["below_art_limit"] else f"{point}, ART not below its limit"
    preconditioned = _not_steady(content.figures["preconditioning"]["steady_state"])
    words = (
        f"pre-conditioning: {preconditioned}" if preconditioned else "",
        _not_steady(content.figures["steady_state"]),
    )
    state = "; ".join(word for word in words if word)
    return (
        _rate("MaxIOPS", "IOPS", maximum["iops"], note=note, state=state),
        _time("ART at MaxIOPS", maximum["art_ms"], note=note, state=state),
    )


def _not_steady(steady_state: Mapping[str, Any]) -> str:
    """What figures of rounds say of a steady state that was not reached; empty if it was."""
    if steady_state["reached"]:
        return ""
    rounds = len(steady_state["window"])
    return (
        "Steady State not reached"
        if rounds == WINDOW_ROUNDS
        else f"Steady State n/a ({rounds} of {WINDOW_ROUNDS} rounds)"
    )


def _summarised(
    content: TestContent, better_by_ending: Mapping[str, Better] = MappingProxyType({})
) -> tuple[KeyValue, ...]:
    """The rows of the summary; ``better_by_ending`` is of names whose unit tells nothing or wrong."""

    def better(name: str, unit: str) -> Better:
        of_name = (better for ending, better in better_by_ending.items() if name.endswith(ending))
        return next(of_name, _BETTER_BY_UNIT.get(unit, Better.UNJUDGED))

    return tuple(_of_row(name, cell, unit, better(name, unit)) for name, cell, unit in _rows(content))


_OF_TEST: Final[Mapping[str, Callable[[TestContent], tuple[KeyValue, ...]]]] = {
    "iops": _iops,
    "tp": _throughput,
    "lat": _latency,
    "wsat": _saturation,
    "hir": _idle_recovery,
    "xsr": _cross_stimulus,
    "cbw": _demand,
    "dirth": _demand,
    "sustained": partial(_summarised, better_by_ending={"run #2 / run #1": Better.HIGHER}),
    # how much a drive gains by reducing data says nothing of how fast it is
    "entropy": partial(_summarised, better_by_ending={"writes": Better.LOWER}),
    # a time that should be long
    "thermal": partial(_summarised, better_by_ending={"time to first throttle": Better.HIGHER}),
    "lifetime": partial(_summarised, better_by_ending={"Rated life used up after": Better.HIGHER}),
}


def _rows(content: TestContent) -> list[tuple[str, Cell, str]]:
    """Name, value and unit of each row of the cover's summary."""
    return [(row.cells[0].text, row.cells[1], row.cells[2].text) for row in content.summary.rows]


def _of_row(name: str, cell: Cell, unit: str, better: Better) -> KeyValue:
    return KeyValue(name, unit, cell.value, cell.text, better, cell.note)


def _in_state(value: KeyValue, state: str) -> KeyValue:
    """The value with its state; what was not measured has none."""
    return value if value.value is None else replace(value, state=state)


def _rate(
    name: str,
    unit: str,
    value: float | None,
    *,
    note: str = "",
    reason: str = _NOT_MEASURED,
    state: str = "",
) -> KeyValue:
    text = None if value is None else cells.fixed(value, 0)
    return _valued(name, unit, value, text, Better.HIGHER, note=note, reason=reason, state=state)


def _time(name: str, value_ms: float | None, *, note: str = "", state: str = "") -> KeyValue:
    text = None if value_ms is None else format_latency_ms(value_ms * NS_PER_MS)
    return _valued(name, "ms", value_ms, text, Better.LOWER, note=note, state=state)


def _valued(
    name: str,
    unit: str,
    value: float | None,
    text: str | None,
    better: Better,
    *,
    note: str = "",
    reason: str = _NOT_MEASURED,
    state: str = "",
) -> KeyValue:
    """``text`` is None with ``value``; then ``reason`` says why."""
    if value is None or text is None:
        return KeyValue(name, unit, None, "n/a", better, reason)
    return KeyValue(name, unit, value, text, better, note, state=state)
