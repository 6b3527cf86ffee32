"""The report of power cuts: losses by kind, what so many cuts exclude, and each loss with its LBA."""

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, Final

from msgspec import Struct

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_block_size, format_capacity, format_duration
from openpts.vocabulary.power import LOSSES, Cut, DataLoss, losses_text
from openpts.vocabulary.verdict import Better
from openpts_app.powercut import PowerCutConditions
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, grid, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Block, Cell, Column, Page, Table, Verdict
from openpts_pts.shared.preparation_page import methodology

CONFIDENCE: Final = 0.95


class CacheState(Struct, frozen=True):
    """The cuts in one state of the cache; ``name`` is that of the drive, ``volatile`` what it means."""

    name: str
    volatile: bool
    cuts: tuple[Cut, ...]

    @property
    def accused(self) -> int:
        """Cuts that took something that had to survive."""
        return sum(cut.accused for cut in self.cuts)

    @property
    def first_reads_ns(self) -> tuple[int, ...]:
        """From power back to the first read, of each cut after which one succeeded."""
        return tuple(cut.first_read_ns for cut in self.cuts if cut.first_read_ns is not None)

    def count(self, loss: str) -> int:
        """Accusations of one kind."""
        return sum(cut.losses.get(loss, 0) for cut in self.cuts)

    @property
    def losses(self) -> dict[str, int]:
        """Accusations by kind, also those that there are none of."""
        return {loss: self.count(loss) for loss in LOSSES}

    def total(self, figure: Callable[[Cut], int]) -> int:
        """The sum of a figure over all cuts."""
        return sum(figure(cut) for cut in self.cuts)

    def verdict(self) -> Verdict:
        """What was lost, or what so many cuts exclude."""
        cuts = len(self.cuts)
        if self.accused:
            lost = losses_text(self.losses)
            return Verdict(
                f"{self.name}: data lost that had to survive, in {self.accused:,} of {cuts:,} power cuts "
                f"(limit 0): {lost}.",
                "fail",
            )
        return Verdict(
            f"{self.name}: nothing lost that had to survive, in {cuts:,} power cuts. Excluded at "
            f"{100 * CONFIDENCE:g} %: losses in {_percent(excluded_rate(cuts))} of cuts or more.",
            "pass",
        )

    def table(self) -> Table:
        """What was done, what had to survive, and what is excluded."""
        first, promised = self.cuts[0], self.total(lambda cut: cut.promised)
        slowest_ns = max(cut.away_ns for cut in self.cuts)
        none = not self.accused
        return items_table(
            f"powercut-{'volatile' if self.volatile else 'durable'}",
            f"Power cuts, {self.name}",
            (
                ("Power cuts", f"{len(self.cuts):,}, {self.accused:,} with losses"),
                ("Had to survive", _PROMISES[self.volatile]),
                (
                    "Whole, or not there at all",
                    f"interrupted writes of up to {format_block_size(first.atomic_bytes)} "
                    f"({first.atomic_source})",
                ),
                ("Acknowledged writes", f"{self.total(lambda cut: cut.writes):,}"),
                ("Acknowledged flushes", f"{self.total(lambda cut: cut.flushes):,}"),
                ("Writes that had to survive", f"{promised:,}"),
                ("Writes interrupted by the cut", f"{self.total(lambda cut: cut.outstanding):,}"),
                (
                    "Acknowledged and lost, as allowed",
                    f"{self.total(lambda cut: cut.lost_unpromised_sectors):,} sectors",
                ),
                (
                    "Neither old nor new, as allowed",
                    f"{self.total(lambda cut: cut.indeterminate_sectors):,} sectors",
                ),
                (
                    "Excluded rate of cuts with losses",
                    _percent(excluded_rate(len(self.cuts))) if none else "n/a: losses",
                ),
                (
                    "Excluded rate of lost writes",
                    _percent(excluded_rate(promised)) if none else "n/a: losses",
                ),
                (
                    "Longest from cut to drive back",
                    f"{slowest_ns / NS_PER_S:.1f} s" if slowest_ns else "n/a: simulated",
                ),
                ("First read after power is back", self._first_read_text()),
            ),
        )

    def _first_read_text(self) -> str:
        times_ns = self.first_reads_ns
        if not times_ns:
            return "n/a: simulated" if not any(cut.away_ns for cut in self.cuts) else "n/a: no read succeeded"
        return f"median {median(times_ns) / NS_PER_S:.2f} s, longest {max(times_ns) / NS_PER_S:.2f} s"

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        promised = self.total(lambda cut: cut.promised)
        return {
            "write_cache": self.name,
            "volatile": self.volatile,
            "cuts": len(self.cuts),
            "cuts_with_losses": self.accused,
            "losses": self.losses,
            "acknowledged_writes": self.total(lambda cut: cut.writes),
            "acknowledged_flushes": self.total(lambda cut: cut.flushes),
            "promised_writes": promised,
            "excluded_share_of_cuts": None if self.accused else excluded_rate(len(self.cuts)),
            "excluded_share_of_writes": None if self.accused else excluded_rate(promised),
            "first_reads_ms": [time_ns / NS_PER_MS for time_ns in self.first_reads_ns],
        }


def excluded_rate(trials: int) -> float | None:
    """The least rate of faults that so many trials without one exclude at ``CONFIDENCE``; None without any.

    Solves (1 - rate)^trials = 1 - confidence; for many trials that is the rule of three, 3 / trials.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / trials)) if trials else None


_MOST_SHOWN: Final = 200

Accused = tuple[str, int, DataLoss]
"""The state of the cache, the number of the cut, and the accusation."""


_NOTHING: Final = Verdict("n/a: no power cut was completed.", "fail")
_ACCUSED: Final = Measure[CacheState](
    "cuts_with_losses",
    "{name}, power cuts with losses",
    "%",
    lambda state: 100 * state.accused / len(state.cuts),
    decimals=2,
    better=Better.LOWER,
)

_FIRST_READ: Final = Measure[CacheState](
    "first_read",
    "{name}, first read after power is back, median",
    "ms",
    lambda state: median(state.first_reads_ns) / NS_PER_MS,
    decimals=0,
    better=Better.LOWER,
)


def _percent(rate: float | None) -> str:
    return "n/a" if rate is None else f"{100 * rate:.3g} %"


_PROMISES: Final = {
    True: "writes before an acknowledged flush, and those with FUA",
    False: "all acknowledged writes",
}


class PowerCutReport(Struct, frozen=True):
    """The cuts of a run by the state of the cache, a method for each page."""

    conditions: PowerCutConditions
    states: tuple[CacheState, ...]

    @classmethod
    def of(cls, run: Run) -> "PowerCutReport":
        """The cuts in the record; states in the order in which they came."""
        by_state: dict[tuple[str, bool], list[Cut]] = {}
        for cut in run.manifest.cuts:
            by_state.setdefault((cut.write_cache, cut.volatile), []).append(cut)
        states = (CacheState(*state, tuple(cuts)) for state, cuts in by_state.items())
        return cls(run.conditions(PowerCutConditions), tuple(states))

    def verdicts(self) -> tuple[Verdict, ...]:
        """A sentence on each state."""
        return tuple(state.verdict() for state in self.states) or (_NOTHING,)

    def measures(self) -> Iterator[Measured]:
        """Cuts with losses, and how soon the drive was back."""
        for state in self.states:
            yield _ACCUSED.of(state, Subject(state.name))
        for state in self.states:
            if state.first_reads_ns:
                yield _FIRST_READ.of(state, Subject(state.name))

    def pages(self) -> Iterator[Page]:
        """Losses by kind, then each loss if there is one."""
        yield self.losses()
        if any(cut.accusations for state in self.states for cut in state.cuts):
            yield self.accusations()

    def losses(self) -> Page:
        """Losses by kind, and what was done in each state."""
        kind: Col[str] = Col("DataLoss", lambda loss: Cell(LOSSES[loss]), align="left")
        losses = grid(
            "powercut-losses",
            "Losses by kind",
            kind,
            [(Column(state.name), state) for state in self.states],
            LOSSES,
            cell=lambda loss, state: cells.count(state.count(loss)),
            note="Neighboring sectors with the same fault, of the same write, count once.",
        )
        blocks: tuple[Block, ...] = (*self.verdicts(), losses, *map(CacheState.table, self.states))
        return Page("powercut-verdict", "Losses at Power Cuts", blocks)

    def accusations(self) -> Page:
        """Each loss, with the journal's entry of what is missing."""
        accused = [
            (state.name, cut.number, each)
            for state in self.states
            for cut in state.cuts
            for each in cut.accusations
        ]
        cut: Col[Accused] = Col("Cut", lambda one: Cell(f"{one[1]}, {one[0]}"), align="left", width=0.7)
        shown = table(
            "powercut-accusations-table",
            "Accusations, with the journal's entry of what is missing",
            cut,
            [
                Col("DataLoss", lambda one: Cell(LOSSES.get(one[2].loss, one[2].loss)), align="left"),
                Col("LBA", lambda one: cells.count(one[2].lba), width=0.7),
                Col("Sectors", lambda one: cells.count(one[2].sectors), width=0.5),
                Col("Expected", lambda one: Cell(one[2].expected), align="left"),
                Col("Found", lambda one: Cell(one[2].found), align="left"),
                Col("Journal", lambda one: Cell(one[2].context), align="left", width=2.2),
            ],
            accused[:_MOST_SHOWN],
            note="Writes are numbered from the first of the run; the journal's times count submissions and "
            "acknowledgments since the cut before.",
        )
        return Page("powercut-accusations", "Accusations", (shown,))

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        sizes = ", ".join(format_block_size(size) for size in conditions.write_sizes_bytes)
        return (
            ("Data Pattern", "stamped sectors"),
            ("AR & Amount", format_capacity(conditions.range_bytes)),
            ("Test Stimulus", f"RND {sizes} W"),
            ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
            ("Writes per flush", f"{conditions.writes_per_flush:,}"),
            ("Writes with FUA", f"{conditions.fua_pct} %"),
            ("Cuts", f"{conditions.cycles:,} in each state of the cache"),
            ("Writes before a cut", f"{format_duration(conditions.load_ns)} on average"),
            ("", ""),
            ("", ""),
        )


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the cuts in the record."""
    found = PowerCutReport.of(run)
    return ReportContent(
        verdicts=found.verdicts(),
        measures=tuple(found.measures()),
        sections=methodology(run, "Power Cuts", found.test_rows(), found.pages),
        figures=lambda: {"states": [state.figures() for state in found.states]},
    )
