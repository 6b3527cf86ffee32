"""Reads a table of ``tests/data/traces`` and writes it out line by line for a profile and a case.

Knows nothing of openpts: a line is text, made from the table alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import yaml

from tests import DATA

FOLDER: Final = DATA / "traces"
SECONDS: Final = {"s": 1, "min": 60, "h": 3600}

Entry = Mapping[str, Any]


def load(name: str) -> dict[str, Any]:
    """A table by the short name of its test."""
    table: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return table


WORKLOADS: Final = load("workloads")


@dataclass(frozen=True)
class Case:
    """What a table leaves to the drive and to the operator.

    ``rounds`` is the last round or tracking round of each part that runs until steady, in order of cycles;
    parts whose stimulus is ``not_steady`` end a test that ends with them. ``saturation_s`` is where WSAT's
    stimulus ends. ``lengths_s`` replaces the length of a part. ``demand`` has the operating points and the
    operator's choice: TC, QD.
    """

    rounds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    not_steady: frozenset[str] = frozenset()
    workloads: Sequence[str] = ("",)
    saturation_s: float = 0
    lengths_s: Mapping[str, float] = field(default_factory=dict)
    demand: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def lines(table: Mapping[str, Any], drive_class: str, case: Case) -> list[str]:
    """The whole test as the specification has it."""
    values = table.get("for_each", {"": [None]})
    ((name, each),) = values.items()
    written: list[str] = []
    for workload in case.workloads:
        for value in each:
            given = {} if value is None else {name: value}
            cycle = _Cycle(
                table, drive_class, case, workload, given, number=sum("purge" in w for w in written)
            )
            written += cycle.lines()
    return written


class _Cycle:
    def __init__(
        self,
        table: Mapping[str, Any],
        drive_class: str,
        case: Case,
        workload: str,
        given: Mapping[str, Any],
        number: int,
    ) -> None:
        self._table, self._case, self._workload = table, case, workload
        self._settings = table["settings"][drive_class]
        self._given = given
        self._number = number

    def lines(self) -> list[str]:
        written: list[str] = []
        for entry in self._table["cycle"]:
            written += self._entry(entry)
            if entry.get("otherwise") == "the test ends" and entry["part"] in self._case.not_steady:
                break
        return written

    def _entry(self, entry: Entry) -> Iterator[str]:
        if "purge" in entry:
            yield "purge"
        elif "set" in entry:
            yield f"write cache {self._settings[entry['set']]}"
        elif "tracked" in entry:
            yield from self._tracked(entry)
        elif "until" in entry:
            for number in range(1, self._rounds("round", entry) + 1):
                for step in entry["steps"]:
                    for line in self._looped(step):
                        yield f"{step['part']} {number}: {line}"
        else:
            part = entry["part"] if " " in entry["part"] else f"{entry['part']} 1"
            for _ in range(entry.get("repeat", 1)):
                for step in entry.get("steps", [entry]):
                    yield f"{part}: {self._step(step)}"

    def _rounds(self, part: str, entry: Entry) -> int:
        count = self._case.rounds[part][self._number]
        assert count <= entry["at_most"], f"{part} {count} of at most {entry['at_most']}"
        return count

    def _tracked(self, entry: Entry) -> Iterator[str]:
        """The tracked minute first, then the rest of each period with the next tracked minute."""
        stimulus = self._stimulus(entry["stimulus"])
        tracked_s, period_s = (_seconds(entry["tracked"][name]) for name in ("length", "start_to_start"))
        if "until" in entry:
            end_s = (self._rounds(entry["part"], entry) - 1) * period_s + tracked_s
        else:
            end_s = self._case.saturation_s
        at_s, number = 0.0, 1
        for length_s in _alternating(tracked_s, period_s - tracked_s):
            if at_s >= end_s:
                return
            if at_s and length_s != tracked_s:
                number += 1
            yield f"{entry['part']} {number}: {stimulus}, {duration_text(min(length_s, end_s - at_s))}"
            at_s += length_s

    def _looped(self, entry: Entry) -> Iterator[str]:
        outer, inner = (_values(entry.get(name, {}), self._table) for name in ("outer_loop", "inner_loop"))
        for slow in outer:
            for quick in inner:
                yield self._step({**entry, "stimulus": {**entry["stimulus"], **slow, **quick}})

    def _step(self, entry: Entry) -> str:
        if "idle" in entry:
            return f"idle, {duration_text(_seconds(entry['idle']))}"
        text = f"{self._stimulus(entry['stimulus'])}, {self._length(entry)}"
        return text + (", captured" if entry.get("capture") else "")

    def _length(self, entry: Entry) -> str:
        replaced = self._case.lengths_s.get(entry["part"]) if "part" in entry else None
        if replaced is not None:
            return duration_text(replaced)
        if "first_of" in entry:
            rules = " or ".join(_rule(rule) for rule in entry["first_of"])
            return f"{rules}, at least {duration_text(_seconds(entry['at_least']))}"
        return _rule(entry["length"])

    def _stimulus(self, own: Entry) -> str:
        named = own.get("workload")
        workload = WORKLOADS[self._workload if named == "chosen" else named] if named else {}
        wanted = {**self._settings, **self._given, **workload, **own}
        if named and workload["order"] == "SEQ" and "sequential" in self._table:
            wanted |= self._table["sequential"]
        if "demand" in wanted:
            demand = wanted["demand"]
            wanted["tc"], wanted["qd"] = self._case.demand[demand] if isinstance(demand, str) else demand
        sizes = wanted.get("block_kib_pct") or {wanted["block_kib"]: 100}
        zones = [(zone["accesses_pct"], zone["of_range_pct"]) for zone in wanted.get("zones", ())]
        return stimulus_text(
            wanted["order"],
            {Fraction(kib): Fraction(pct) for kib, pct in sizes.items()},
            wanted["rw"],
            (wanted["tc"], wanted["qd"]),
            wanted["active_range_pct"],
            zones,
        )


def stimulus_text(
    order: str,
    sizes_kib_pct: Mapping[Fraction, Fraction],
    rw_mix: str,
    tc_qd: tuple[int, int],
    active_range_pct: Sequence[float],
    zones_pct: Sequence[tuple[float, float]] = (),
) -> str:
    """A stimulus as a line has it: what the table says and what a script applies must read alike."""
    if len(sizes_kib_pct) == 1:
        sizes = " ".join(f"{float(kib):g} KiB" for kib in sizes_kib_pct)
    else:
        sizes = " ".join(f"{float(kib):g}KiB:{float(pct):g}%" for kib, pct in sorted(sizes_kib_pct.items()))
    places = "".join(f" {accesses:g}%in{share:g}%" for accesses, share in zones_pct)
    start_pct, end_pct = active_range_pct
    return f"{order} {sizes} {rw_mix}, TC {tc_qd[0]} QD {tc_qd[1]}, range {start_pct:g}-{end_pct:g} %{places}"


def _values(loop: Mapping[str, Any], table: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not loop:
        return [{}]
    ((name, values),) = loop.items()
    if isinstance(values, str):
        values = [tuple(point) for points in table[values].values() for point in points]
    return [{name: value} for value in values]


def _alternating(first: float, second: float) -> Iterator[float]:
    while True:
        yield first
        yield second


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * SECONDS[unit]


def duration_text(seconds: float) -> str:
    """A length to the millisecond, without needless zeros."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


def _rule(text: str) -> str:
    if text.endswith("user capacity"):
        return f"{float(text.split(maxsplit=1)[0]):g} x user capacity"
    return duration_text(_seconds(text))
