"""Tables of key values: a short one, and one with all that the rules require."""

from collections.abc import Iterator

from openpts.procedures.kit.spread import rse_cell
from openpts.vocabulary.uncertainty import two_digits
from openpts_compare.compare.contenders import ComparedTest, RunComparison
from openpts_compare.compare.metrics import ComparedMetric, SetValue
from openpts_compare.compare.spread import Spread
from openpts_compare.compare.words import absence, chance_text, outcome_words, statement
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.measure import Measured
from openpts_pages.model import Cell, Column, Table


def sets_table(comparison: RunComparison) -> Table:
    """The drives and labels compared, and how many runs of each test they have."""
    tests = comparison.tests
    return rows_table(
        "compare-sets",
        "Drives and labels, with their runs of each test",
        " | ".join(["Drive or label:<1.6", *(f"{test.test.upper()}:^" for test in tests)]),
        ((name, *(_runs_cell(test, name) for test in tests)) for name in comparison.names),
        note=f"{comparison.names[0]} is the base.",
    )


def _runs_cell(test: ComparedTest, name: str) -> Cell:
    sets = [one for one in test.contenders if one.owner == name]
    if not sets:
        return cells.missing("not run")
    texts = [f"{len(one.warm)} warm{f', {len(one.cold)} cold' if one.cold else ''}" for one in sets]
    return Cell(" | ".join(texts))


def glance_table(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> Table:
    """Medians and deltas of a test, a row for each key value."""
    candidates = [one.name for one in test.contenders if one is not test.base]
    deltas = [Column(f"{name}: delta (%)") for name in candidates] if test.base else []
    return rows_table(
        f"compare-{test.test}-glance",
        f"{test.title}: medians" + (f" and deltas from {test.base.name}" if test.base else ""),
        (Column("Key value", None, "left", 1.5), *(Column(one.name) for one in test.contenders), *deltas),
        (
            (
                metric.title,
                *(_median_cell(one) for one in metric.sets),
                *(_delta_cell(one, metric) for one in metric.sets[1:] if test.base),
            )
            for metric in metrics
        ),
    )


def detail_table(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> Table:
    """A row for each key value of each set: runs, median, range, RSE, delta with E_n, chance, statement."""
    return rows_table(
        f"compare-{test.test}-sets",
        f"{test.title}: sets of runs",
        "Key value:<1.7 | Drive or label:<1.2 | Warm runs:^0.5 | Median:0.9 | Min:0.8 | Max:0.8 | "
        "RSE (%):0.6 | Delta (%):0.7 | Chance, corrected (%):0.8 | Statement:<1.8",
        (row for metric in metrics for one in metric.sets for row in _detail_rows(test, metric, one)),
    )


def _detail_rows(test: ComparedTest, metric: ComparedMetric, one: SetValue) -> Iterator[Cells]:
    yield (
        metric.title,
        one.contender.name,
        cells.count(len(one.warm)),
        _median_cell(one, spread=False),
        *_range_cells(one),
        rse_cell(one.runs),
        "base" if one.contender is test.base else _delta_cell(one, metric, outcome=False),
        _chance_cell(one),
        statement(one) or "-",
    )
    for value in one.cold:
        dashes = ["-"] * 5
        yield metric.title, f"{one.contender.name}, cold", "-", value.noted_cell, *dashes, "not counted"


def _median_cell(one: SetValue, *, spread: bool = True) -> Cell:
    """The median with its own note; ``spread`` adds the state and the range of the runs."""
    median = one.median
    if median is None or one.runs is None:
        return cells.missing(absence(one))
    notes = [median.note] if median.note else []
    if spread and one.state:
        notes.append(one.state)
    if spread and one.runs.count > 1:
        low, high = _ends(one)
        notes.append(f"{low.text} to {high.text}, N = {one.runs.count}")
    return Cell(median.text, median.value, "; ".join(notes))


def _range_cells(one: SetValue) -> tuple[Cell, Cell]:
    if one.runs is None:
        return Cell("-"), Cell("-")
    low, high = _ends(one)
    return Cell(low.text, low.value), Cell(high.text, high.value)


def _ends(one: SetValue) -> tuple[Measured, Measured]:
    """Smallest and largest value of the warm runs."""
    in_order = sorted(one.warm, key=lambda value: value.value or 0.0)
    return in_order[0], in_order[-1]


def _chance_cell(one: SetValue) -> Cell:
    """How often chance shows these ranges when all lines count; below it, ranges of so many runs alone."""
    comparison = one.comparison
    if comparison is None or comparison.chance is None or comparison.corrected_chance is None:
        return Cell("-")
    corrected = comparison.corrected_chance
    return Cell(chance_text(corrected), 100 * corrected, f"one line: {chance_text(comparison.chance)}")


def _delta_cell(one: SetValue, metric: ComparedMetric, *, outcome: bool = True) -> Cell:
    """The delta, plus is better; ``outcome`` adds the statement on it in place of its E_n."""
    if one.comparison is None:
        return cells.missing("base not measured" if metric.base is None else "not measured")
    words = outcome_words(one) if outcome else ""
    if one.comparison.delta_pct is None:
        return cells.missing(words or "not judged")
    if not outcome and one.e_n is not None:
        words = f"E_n {cells.signed(one.e_n, 2)}"
    return Cell(cells.signed(one.comparison.delta_pct, 1), one.comparison.delta_pct, words)


def spread_table(
    test: ComparedTest, spreads: dict[int, Spread], metrics: tuple[ComparedMetric, ...]
) -> Table | None:
    """A row for each key value that three drives or more have; None where there is none."""
    rows = [(metric.title, spreads[id(metric)]) for metric in metrics if id(metric) in spreads]
    if not rows:
        return None
    return rows_table(
        f"compare-{test.test}-spread",
        f"{test.title}: spread of the drives",
        "Key value:<1.7 | Drives:^0.5 | Mean:0.9 | Standard deviation:0.8 | Min:0.8 | Max:0.8 | "
        "Farthest:<1.2 | Off the others (%):0.7 | Chance, corrected (%):0.8 | :<0.6",
        ((title, *_spread_cells(spread)) for title, spread in rows),
    )


def _spread_cells(one: Spread) -> Cells:
    deviation = two_digits(one.standard_deviation)
    decimals = len(deviation.partition(".")[2])
    low, high = one.ends
    mean = cells.number(one.mean, decimals) if one.standard_deviation else Cell(low.text, one.mean)
    found = [
        cells.count(len(one.names)),
        mean,
        Cell(deviation, one.standard_deviation),
        Cell(low.text, low.value),
        Cell(high.text, high.value),
    ]
    if one.grubbs is None or one.corrected_chance is None:
        return (*found, *["-"] * 3, "all are equal")
    off = Cell("-") if one.off_pct is None else cells.percent(one.off_pct, plus=True)
    statistic = f"G {cells.fixed(one.grubbs.statistic, 2)}"
    chance = Cell(chance_text(one.corrected_chance), 100 * one.corrected_chance, statistic)
    out = Cell("LIES OUT", tone="fail") if one.lies_out else Cell("")
    return (*found, one.farthest or "-", off, chance, out)
