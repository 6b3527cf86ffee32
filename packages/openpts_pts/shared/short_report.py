"""What tests have in the short report: figures, tables and words of the full one, no number made twice."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.procedures.kit.header import NOT_RUN
from openpts.units import NS_PER_S, block_size_kib
from openpts.vocabulary.verdict import TrackingVariable
from openpts_pages.facts_table import items_table
from openpts_pages.model import Block, Cell, Figure, Page, Section, Table, Verdict
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.rounds.report import point_name

PLOT_PX: Final = 240
"""Plots are lower than in the full report, so that a test has few pages."""

_STEADY: Final = (
    "Steady State",
    "Rounds of the measurement window",
    "Values in them",
    "Average of the values",
)


class Picked(Struct):
    """The pages of a section of the full report; a table that was shown is not shown again."""

    section: Section
    shown: set[str] = field(default_factory=set)

    def page(self, name: str) -> Page | None:
        """A page by the end of its id, None if the full report has none."""
        return next((page for page in self.section.pages if page.id == f"{self.section.test}-{name}"), None)

    def plot(self, name: str, sentence: str, *, most_px: int = PLOT_PX) -> list[Block]:
        """The figures of a page, a sentence that says what they show; HTML and data files have the values."""
        page = self.page(name)
        figures = [] if page is None else [block for block in page.blocks if isinstance(block, Figure)]
        if page is None or not figures:
            return _nothing(page, name)
        tables = [table for one in figures if (table := self.table(one.table_id)) is not None]
        return [
            *(replace(one, height_px=min(one.height_px, most_px)) for one in figures),
            Verdict(sentence),
            *(replace(table, printed=False) for table in tables),
        ]

    def table(self, table_id: str) -> Table | None:
        """A table by its id, the first time that it is asked for."""
        if table_id in self.shown:
            return None
        found = self.any_table(table_id)
        if found is not None:
            self.shown.add(table_id)
        return found

    def any_table(self, table_id: str) -> Table | None:
        """A table by its id, shown or not."""
        blocks = (block for page in self.section.pages for block in page.blocks)
        return next((block for block in blocks if isinstance(block, Table) and block.id == table_id), None)

    def sentences(self, name: str) -> list[Verdict]:
        """What a page says."""
        page = self.page(name)
        return [] if page is None else [block for block in page.blocks if isinstance(block, Verdict)]


def _nothing(page: Page | None, name: str) -> list[Block]:
    """Why there is no plot, as the full report says it."""
    sentences = () if page is None else (block for block in page.blocks if isinstance(block, Verdict))
    return list(sentences) or [Verdict(f"{name.replace('-', ' ')}: n/a (not part of this report).")]


# TKP-SS-04
def steady_state_table(
    picked: Picked, window: str, state: Sequence[Verdict], tracking: Sequence[TrackingVariable]
) -> Table:
    """Whether steady state was reached, in which rounds, with the values and their average."""
    found = steady_state_cells(picked, window, state)
    unit, names = window_unit(picked, window), [point_name(variable) for variable in tracking]
    items = [("Tracking variable", Cell(", ".join(names) or "none")), *zip(_STEADY, found, strict=True)]
    if len(names) > 1:
        items[3:] = [(f"{label} ({names[0]})", cell) for label, cell in items[3:]]
    return items_table(f"short-{picked.section.test}-steady", f"Steady State information{unit}", items)


def steady_state_cells(picked: Picked, window: str, state: Sequence[Verdict]) -> tuple[Cell, ...]:
    """The state, the rounds of the window, the values in them, and their average."""
    values = picked.any_table(f"{picked.section.test}-{window}-values")
    data = picked.any_table(f"{picked.section.test}-{window}-data")
    missing = Cell("n/a", note="fewer than five Rounds", tone="missing")
    if not state or values is None or data is None:
        return (Cell(state[0].text, tone=_tone(state[0])) if state else missing, missing, missing, missing)
    return (
        Cell(state[0].text, tone=_tone(state[0])),
        Cell(", ".join(column.label for column in values.columns)),
        Cell("; ".join(cell.text for cell in values.rows[0].cells)),
        data.rows[0].cells[2],
    )


def window_unit(picked: Picked, window: str) -> str:
    """The unit of a window's values, in brackets; empty where nothing was judged."""
    values, data = (picked.any_table(f"{picked.section.test}-{window}-{key}") for key in ("values", "data"))
    return "" if values is None or data is None else f" ({values.rows[0].head.text})"


def preparation(picked: Picked, *, own_size: bool = False) -> str:
    """What was done to the drive before the rounds, as recorded: purge and preconditioning.

    ``own_size``: each of several sections preconditions in its own block size.
    """
    prefix = f"{picked.section.test}-preparation"
    purge, written = (_items(picked.any_table(f"{prefix}-{table}")) for table in ("purge", "wipc"))
    method = purge.get("Purge Method", NOT_RUN)
    purged = "no purge" if method.startswith(NOT_RUN) else f"a purge ({method})"
    if (amount := written.get("Amount written")) is None:
        return f"{purged}, no preconditioning"
    if own_size:
        return f"{purged}, preconditioning in that size ({amount.rpartition(' = ')[2]})"
    return f"{purged}, preconditioning ({written['Workload']}, {amount})"


def _items(table: Table | None) -> dict[str, str]:
    return {} if table is None else {row.head.text: row.cells[0].text for row in table.rows}


def rounds_text(conditions: RoundConditions) -> str:
    """The loops of a round and what ends them, as this run had them."""
    mixes = ", ".join(f"{read_pct}/{100 - read_pct}" for read_pct in conditions.read_pcts)
    sizes = ", ".join(block_size_kib(size) for size in conditions.block_sizes_bytes)
    return (
        f"Rounds through the workloads {mixes}, and within each through the block sizes {sizes} KiB, "
        f"{seconds(conditions.minute_ns)} for each, until steady or for {conditions.max_rounds} Rounds."
    )


def seconds(duration_ns: int) -> str:
    """``60 s``."""
    return f"{duration_ns / NS_PER_S:g} s"


def reordered(table: Table, table_id: str, title: str, *, rows: bool = False, columns: bool = False) -> Table:
    """The same cells from the last row or column to the first: the order of TKperf's tables."""
    down, along = -1 if rows else 1, -1 if columns else 1
    return replace(
        table,
        id=table_id,
        title=title,
        columns=table.columns[::along],
        rows=tuple(replace(row, cells=row.cells[::along]) for row in table.rows[::down]),
        printed=True,
    )


def _tone(verdict: Verdict) -> str:
    return verdict.tone if verdict.tone in {"pass", "fail"} else ""


def verification(figure: str, tracking: Sequence[TrackingVariable]) -> str:
    """What the plot of a measurement window shows."""
    of = f" of {point_name(tracking[0])}" if tracking else ""
    return (
        f"{figure}{of} in the measurement window. Steady state: all points are within the shaded band, which "
        "is 20 % of the average wide; the best-fit line climbs or falls by 10 % of the average at most."
    )
