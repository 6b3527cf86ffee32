"""What tests have in the short report: figures and tables of the full one, no number made twice."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from openpts.pages.facts_table import items_table
from openpts.pages.model import Block, Cell, Figure, Page, Section, Table, Verdict


@dataclass(slots=True)
class Picked:
    """The pages of a section of the full report; a table that was shown is not shown again."""

    section: Section
    shown: set[str] = field(default_factory=set)

    def page(self, name: str) -> Page | None:
        """A page by the end of its id, None if the full report has none."""
        return next((page for page in self.section.pages if page.id == f"{self.section.test}-{name}"), None)

    def plot(self, name: str, sentence: str, *, printed: bool = False) -> list[Block]:
        """The figures of a page, a sentence that says what they show, and the values that they show.

        ``printed`` is False for values that only HTML and data files hold.
        """
        page = self.page(name)
        figures = [] if page is None else [block for block in page.blocks if isinstance(block, Figure)]
        if page is None or not figures:
            return _nothing(page, name)
        tables = [table for one in figures if (table := self.table(one.table_id)) is not None]
        return [
            *figures,
            Verdict(sentence),
            *(table if printed else replace(table, printed=False) for table in tables),
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
    said = [] if page is None else [block for block in page.blocks if isinstance(block, Verdict)]
    return list(said) or [Verdict(f"{name.replace('-', ' ')}: n/a (not part of this report).")]


# TKP-SS-04
def steady_state_table(picked: Picked, window: str, state: Sequence[Verdict]) -> Table:
    """Whether steady state was reached, in which rounds, with the values and their average."""
    values = picked.any_table(f"{picked.section.test}-{window}-values")
    data = picked.any_table(f"{picked.section.test}-{window}-data")
    missing = Cell("n/a", note="fewer than five Rounds", tone="missing")
    items: list[tuple[str, str | Cell]] = [
        ("Steady State", Cell(state[0].text, tone=_tone(state[0]))) if state else ("Steady State", missing),
        (
            "Rounds of the measurement window",
            ", ".join(c.label for c in values.columns) if values else missing,
        ),
        ("Values in them", "; ".join(cell.text for cell in values.rows[0].cells) if values else missing),
        ("Average of the values", data.rows[0].cells[2].text if data else missing),
    ]
    unit = f" ({values.rows[0].head.text})" if values else ""
    return items_table(f"short-{picked.section.test}-steady", f"Steady State information{unit}", items)


def _tone(verdict: Verdict) -> str:
    return verdict.tone if verdict.tone in {"pass", "fail"} else ""


def verification(what: str) -> str:
    """What the plot of a measurement window shows."""
    return (
        f"{what} in the measurement window: all points within the shaded band, which is 20 % of the average "
        "wide, and a best-fit line that climbs or falls by 10 % of the average at most, make steady state."
    )
