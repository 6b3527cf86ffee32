"""What follows from a declared table and plot: cells in place, ranges in words, pages without values."""

import pytest

from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, Required, column_series, grid, page, plot_page, table
from openpts_pages.model import Cell, Column, Figure, Series, Table, Verdict

NAME = PlotName("test-1", "Plot 1", "Speed over Size")
LEAD = Verdict("What it shows")


def squares(*sizes: int) -> Table:
    """A row per size: its square, a hundredth of it, and nothing for 3."""
    return table(
        "test-1-values",
        "Values",
        Col("Size", lambda n: Cell(str(n), float(n)), width=0),
        [
            Col("Square", lambda n: cells.missing("three") if n == 3 else cells.number(n * n, 0)),
            Col("Hundredth", lambda n: cells.number(n * n / 100, 2), place=7, align="left"),
        ],
        sizes,
    )


def plot(shown: Table, *columns: int, alt: str = "{count} of {rows}, {low} to {high}") -> Plot:
    return Plot(
        x=ticks.linear_axis("Size", 0, 10),
        y=lambda values: ticks.linear_axis("Speed", min(values), max(values)),
        series=tuple(Series(shown.columns[n].label, "column", (n,), n) for n in columns),
        alt=alt,
    )


def test_a_table_has_a_row_for_each_thing_in_order() -> None:
    shown = squares(2, 3)
    assert shown.head == Column("Size", width=0)
    assert shown.columns == (Column("Square"), Column("Hundredth", 7.0, "left"))
    assert [[row.head.text, *(cell.text for cell in row.cells)] for row in shown.rows] == [
        ["2", "4", "0.04"],
        ["3", "n/a", "0.09"],
    ]


def test_a_grid_has_the_cell_of_each_row_and_column() -> None:
    shown = grid(
        "g",
        "Products",
        Col("n", cells.count),
        [(Column(f"x {k}", k), k) for k in (10, 20)],
        (1, 2, 3),
        cell=lambda n, k: cells.count(n * k),
    )
    assert [[cell.value for cell in row.cells] for row in shown.rows] == [[10, 20], [20, 40], [30, 60]]
    assert [column.value for column in shown.columns] == [10, 20]


@pytest.mark.parametrize(("most", "printed"), [(4, True), (3, False), (True, True), (False, False)])
def test_a_table_is_printed_up_to_a_number_of_cells(most, printed) -> None:
    shown = table(
        "t", "", Col("n", cells.count), [Col("a", cells.count), Col("b", cells.count)], (1, 2), printed=most
    )
    assert shown.printed is printed


def test_a_plot_tells_the_range_of_what_it_plots_and_of_nothing_else() -> None:
    shown = squares(1, 2, 3, 4)
    figure = plot(shown, 0).over(NAME, shown)
    assert (figure.id, figure.number, figure.title) == ("test-1-plot", "Plot 1", "Speed over Size")
    assert figure.table_id == "test-1-values"
    assert figure.alt == "Speed over Size: 3 of 4, 1 to 16"
    assert figure.y.domain[0] <= 1
    assert 16 <= figure.y.domain[1] < 30
    assert plot(shown, 0, 1).over(NAME, shown).alt == "Speed over Size: 7 of 4, 0 to 16"


def test_series_of_rows_are_told_by_their_rows() -> None:
    shown = squares(1, 2)
    by_row = Plot(
        x=ticks.linear_axis("x", 0, 1),
        y=ticks.linear_axis("y", 0, 1),
        series=(Series("2", "row", (1,), 0),),
        alt="{low} to {high}",
        decimals=2,
    )
    assert by_row.over(NAME, shown).alt == "Speed over Size: 0.04 to 4.00"


def test_response_times_have_three_digits() -> None:
    shown = table("t", "", Col("n", cells.count), [Col("ms", lambda n: Cell("", n / 3))], (1, 2))
    told = Plot(x=ticks.linear_axis("x", 0, 1), y=ticks.linear_axis("y", 0, 1), series=column_series(shown),
                alt="{low} to {high} ms", decimals=None)  # fmt: skip
    assert told.over(NAME, shown).alt == "Speed over Size: 0.333 to 0.667 ms"


def test_a_text_of_others_may_hold_braces() -> None:
    shown = squares(1)
    assert plot(shown, 0, alt="{drive} {} {low}").over(NAME, shown).alt == "Speed over Size: {drive} {} 1"


def test_a_page_without_values_says_why() -> None:
    shown = squares()
    absent = Verdict("Nothing was measured.", "fail")
    made = plot_page(NAME, LEAD, lambda shown: plot(shown, 0), shown, absent=absent)
    assert made.blocks == (LEAD, absent)
    assert made.mandatory
    with_values = plot_page(
        NAME, LEAD, lambda shown: plot(shown, 0), squares(2), Verdict("Rule"), absent=absent
    )
    assert [type(block) for block in with_values.blocks] == [Verdict, Figure, Verdict, Table]


def test_a_page_has_the_blocks_that_there_are() -> None:
    assert page(NAME, None, LEAD, None, mandatory=False).blocks == (LEAD,)


def test_a_required_plot_names_its_page() -> None:
    assert Required("a1", "Plot A.1").named("iops", "Title") == PlotName("iops-a1", "Plot A.1", "Title")
