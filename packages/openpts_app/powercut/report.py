"""The report of power cuts: losses by kind, what so many cuts exclude, and each loss with its LBA."""

from collections.abc import Callable, Sequence
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
from openpts_pages.kit import Col, table
from openpts_pages.measure import Measure, Subject
from openpts_pages.model import Cell, Page, Table, Verdict
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

    def total(self, figure: Callable[[Cut], int]) -> int:
        """The sum of a figure over all cuts."""
        return sum(figure(cut) for cut in self.cuts)

    @property
    def accusations(self) -> tuple[tuple[int, DataLoss], ...]:
        """Data losses in the record, each with the number of its cut."""
        return tuple((cut.number, each) for cut in self.cuts for each in cut.accusations)


def states_of(cuts: Sequence[Cut]) -> tuple[CacheState, ...]:
    """The cuts by the state of the cache, in the order in which the states came."""
    names = dict.fromkeys((cut.write_cache, cut.volatile) for cut in cuts)
    return tuple(
        CacheState(
            name, volatile, tuple(cut for cut in cuts if (cut.write_cache, cut.volatile) == (name, volatile))
        )
        for name, volatile in names
    )


def excluded_rate(trials: int) -> float | None:
    """The least rate of faults that so many trials without one exclude at ``CONFIDENCE``; None without any.

    Solves (1 - rate)^trials = 1 - confidence; for many trials that is the rule of three, 3 / trials.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / trials)) if trials else None


def losses_of(state: CacheState) -> dict[str, int]:
    """Accusations by kind, in the order of ``LOSSES``, also those that there are none of."""
    return {loss: state.count(loss) for loss in LOSSES}


_TITLE: Final = "Power Cuts"
_MOST_SHOWN: Final = 200

Accused = tuple[str, int, DataLoss]
"""The state of the cache, the number of the cut, and the accusation."""


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the cuts in the record."""
    conditions = run.conditions(PowerCutConditions)
    states = states_of(run.manifest.cuts)
    verdicts = tuple(_verdict(state) for state in states) or (_NOTHING,)
    return ReportContent(
        verdicts=verdicts,
        measures=(
            *(_ACCUSED.of(state, Subject(state.name)) for state in states),
            *(_FIRST_READ.of(state, Subject(state.name)) for state in states if state.first_reads_ns),
        ),
        sections=methodology(
            run,
            _TITLE,
            _test_rows(conditions),
            lambda: (_losses_page(states, verdicts), *_accusations_pages(states)),
        ),
        figures=lambda: {"states": [_figures(state) for state in states]},
    )


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


def _verdict(state: CacheState) -> Verdict:
    cuts = len(state.cuts)
    if state.accused:
        lost = losses_text(losses_of(state))
        return Verdict(
            f"{state.name}: data lost that had to survive, in {state.accused:,} of {cuts:,} power cuts "
            f"(limit 0): {lost}.",
            "fail",
        )
    return Verdict(
        f"{state.name}: nothing lost that had to survive, in {cuts:,} power cuts. Excluded at "
        f"{100 * CONFIDENCE:g} %: losses in {_percent(excluded_rate(cuts))} of cuts or more.",
        "pass",
    )


def _percent(rate: float | None) -> str:
    return "n/a" if rate is None else f"{100 * rate:.3g} %"


_PROMISES: Final = {
    True: "writes before an acknowledged flush, and those with FUA",
    False: "all acknowledged writes",
}


def _losses_page(states: tuple[CacheState, ...], verdicts: tuple[Verdict, ...]) -> Page:
    kind: Col[str] = Col("DataLoss", lambda loss: Cell(LOSSES[loss]), align="left")
    losses = table(
        "powercut-losses",
        "Losses by kind",
        kind,
        [_loss_column(state) for state in states],
        LOSSES,
        note="Neighboring sectors with the same fault, of the same write, count once.",
    )
    return Page(
        "powercut-verdict",
        "Losses at Power Cuts",
        (*verdicts, losses, *(_state_table(state) for state in states)),
    )


def _loss_column(state: CacheState) -> Col[str]:
    return Col(state.name, lambda loss: cells.count(state.count(loss)))


def _state_table(state: CacheState) -> Table:
    first, promised = state.cuts[0], state.total(lambda cut: cut.promised)
    slowest_ns = max(cut.away_ns for cut in state.cuts)
    none = not state.accused
    return items_table(
        f"powercut-{'volatile' if state.volatile else 'durable'}",
        f"Power cuts, {state.name}",
        (
            ("Power cuts", f"{len(state.cuts):,}, {state.accused:,} with losses"),
            ("Had to survive", _PROMISES[state.volatile]),
            (
                "Whole, or not there at all",
                f"interrupted writes of up to {format_block_size(first.atomic_bytes)} "
                f"({first.atomic_source})",
            ),
            ("Acknowledged writes", f"{state.total(lambda cut: cut.writes):,}"),
            ("Acknowledged flushes", f"{state.total(lambda cut: cut.flushes):,}"),
            ("Writes that had to survive", f"{promised:,}"),
            ("Writes interrupted by the cut", f"{state.total(lambda cut: cut.outstanding):,}"),
            (
                "Acknowledged and lost, as allowed",
                f"{state.total(lambda cut: cut.lost_unpromised_sectors):,} sectors",
            ),
            (
                "Neither old nor new, as allowed",
                f"{state.total(lambda cut: cut.indeterminate_sectors):,} sectors",
            ),
            (
                "Excluded rate of cuts with losses",
                _percent(excluded_rate(len(state.cuts))) if none else "n/a: losses",
            ),
            ("Excluded rate of lost writes", _percent(excluded_rate(promised)) if none else "n/a: losses"),
            (
                "Longest from cut to drive back",
                f"{slowest_ns / NS_PER_S:.1f} s" if slowest_ns else "n/a: simulated",
            ),
            ("First read after power is back", _first_read_text(state)),
        ),
    )


def _first_read_text(state: CacheState) -> str:
    times_ns = state.first_reads_ns
    if not times_ns:
        return "n/a: simulated" if not any(cut.away_ns for cut in state.cuts) else "n/a: no read succeeded"
    return f"median {median(times_ns) / NS_PER_S:.2f} s, longest {max(times_ns) / NS_PER_S:.2f} s"


def _accusations_pages(states: tuple[CacheState, ...]) -> tuple[Page, ...]:
    accused = [(state.name, number, each) for state in states for number, each in state.accusations]
    if not accused:
        return ()
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
    return (Page("powercut-accusations", "Accusations", (shown,)),)


def _test_rows(conditions: PowerCutConditions) -> Rows:
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


def _figures(state: CacheState) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    promised = state.total(lambda cut: cut.promised)
    return {
        "write_cache": state.name,
        "volatile": state.volatile,
        "cuts": len(state.cuts),
        "cuts_with_losses": state.accused,
        "losses": losses_of(state),
        "acknowledged_writes": state.total(lambda cut: cut.writes),
        "acknowledged_flushes": state.total(lambda cut: cut.flushes),
        "promised_writes": promised,
        "excluded_share_of_cuts": None if state.accused else excluded_rate(len(state.cuts)),
        "excluded_share_of_writes": None if state.accused else excluded_rate(promised),
        "first_reads_ms": [time_ns / NS_PER_MS for time_ns in state.first_reads_ns],
    }
