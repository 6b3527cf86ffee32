"""Builds the report on a population: figures in, model out; no clock, no device, no file."""

from collections.abc import Sequence
from typing import Final

from openpts.pages import cells
from openpts.pages.model import SCHEMA_VERSION, Block, Cell, Column, Page, Report, Row, Table, Verdict
from openpts.report.population.drives import Populations
from openpts.report.population.figures import (
    Effect,
    LeftOut,
    NamedValue,
    PopulationFigures,
    TestFigures,
    ValueFigures,
)
from openpts.report.population.pages import drives_page, value_page, value_page_id
from openpts.report.population.words import (
    OF_THE_LOT,
    RATE,
    RULE,
    SWAP,
    beside_text,
    chance_text,
    effect_line,
    number,
    off_text,
    what_may_be_said,
)

_FOOTER: Final = "Population of openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA"
_Found = tuple[TestFigures, ValueFigures, NamedValue]


def build_population(populations: Populations, figures: PopulationFigures, *, paper: str = "a4") -> Report:
    """The report as data; its date is the end of the last run."""
    runs = populations.runs
    simulated = all(run.manifest.target.simulation for run in runs)
    kinds = list(dict.fromkeys(" ".join(one.kind) for one in figures.populations))
    subtitle = f"{len(figures.drives)} drives: {', '.join(kinds)}"
    lines = list(dict.fromkeys(run.red_line for run in runs if run.red_line))
    return Report(
        schema_version=SCHEMA_VERSION,
        title=f"{'SIMULATED ' if simulated else ''}SSD Population",
        subtitle=subtitle,
        run_name=subtitle,
        report_date=max(run.manifest.ended_at or run.started_at for run in runs),
        red_line=f"{lines[0]}{f'; and {len(lines) - 1} more' if len(lines) > 1 else ''}" if lines else "",
        footer=_FOOTER,
        front=(
            _front_page(figures),
            *(drives_page(one) for one in figures.populations),
            *(value_page(one, value) for one in figures.populations for value in one.values if value.differs),
        ),
        sections=(),
        back=(),
        deviation_count=sum(run.deviations for run in runs),
        stem="population",
        paper=paper,
    )


def _front_page(figures: PopulationFigures) -> Page:
    tests = figures.populations
    named = [(test, value, one) for test in tests for value in test.values for one in value.named]
    suspected = [(test, value, one) for test in tests for value in test.values for one in value.suspected]
    out = {one.drive for _, _, one in named}
    of_named = [found for found in (*named, *suspected) if found[2].drive in out]
    others = [found for found in suspected if found[2].drive not in out]
    effects = [(value, effect) for test in tests for value in test.values for effect in value.effects]
    blocks: list[Block] = [*_verdicts(figures, sorted(out), sorted({one.drive for _, _, one in others}))]
    if of_named:
        blocks.append(_named_table("named", "Drives that stand out", of_named))
    if others:
        blocks.append(_named_table("suspected", "Drives worth a look", others))
    if of_named or others:
        blocks.append(Verdict(SWAP))
    if effects:
        blocks.append(_effects_table(effects))
    blocks += [_spread_table(test) for test in tests]
    for test in tests:
        title = f"{test.title}. " if len(tests) > 1 else ""
        blocks += [Verdict(f"{title}{sentence}") for sentence in what_may_be_said(test)]
    blocks += [Verdict(OF_THE_LOT), Verdict(RULE), Verdict(RATE)]
    if figures.left_out:
        blocks.append(_left_out_table(figures.left_out))
    return Page("population", "The population", tuple(blocks), mandatory=True)


def _verdicts(figures: PopulationFigures, named: Sequence[str], suspected: Sequence[str]) -> list[Verdict]:
    values = [value for test in figures.populations for value in test.values]
    said = [Verdict(f"No drive stands out in any of {len(values)} values.", "pass")]
    if named:
        said = [Verdict(f"{_count(named, 'stands', 'stand')} out: {', '.join(named)}.", "fail")]
    if suspected:
        said.append(Verdict(f"{_count(suspected, 'is', 'are')} worth a look: {', '.join(suspected)}."))
    paths = dict.fromkeys(path for test in figures.populations for path in test.paths)
    moved = dict.fromkeys(effect.path for value in values for effect in value.effects)
    if moved:
        return [*said, Verdict(f"Values go with {', '.join(moved)}: see below.", "fail")]
    if paths:
        return [*said, Verdict(f"No value goes with {', '.join(paths)}.", "pass")]
    return [
        *said,
        Verdict("Nothing can be said of slots, hosts or starts: the drives share them, or are too few."),
    ]


def _count(drives: Sequence[str], one: str, several: str) -> str:
    return f"1 drive {one}" if len(drives) == 1 else f"{len(drives)} drives {several}"


def _named_table(key: str, title: str, found: Sequence[_Found]) -> Table:
    """What each of the drives is off in, and whether those in the slots beside it are."""
    rows = []
    for test, value, one in sorted(found, key=lambda one: (one[2].drive, one[2].chance)):
        place = next(drive for drive in value.drives if drive.drive == one.drive)
        cells_of_row = (
            Cell(value.title, link=value_page_id(test, value)),
            Cell(number(one.value), one.value),
            Cell(off_text(value, one.off), one.off),
            Cell(chance_text(one.chance), one.chance),
            Cell(", ".join(filter(None, (place.host, place.slot))) or "-"),
            Cell(beside_text(value, one) or "-"),
        )
        rows.append(Row(Cell(one.drive), cells_of_row))
    columns = (
        Column("Value", align="left", width=1.7),
        Column("Measured", width=0.8),
        Column("Off the median", width=0.8),
        Column("Chance", width=0.8),
        Column("Host, slot", align="left", width=0.8),
        Column("Slots beside it", align="left", width=1.2),
    )
    return Table(f"population-{key}", title, Column("Drive", align="left", width=0.9), columns, tuple(rows))


def _effects_table(effects: Sequence[tuple[ValueFigures, Effect]]) -> Table:
    return Table(
        "population-paths",
        "Values that go with where or when a drive was tested",
        Column("Path", align="left", width=0.8),
        (Column("What", align="left", width=4), Column("Chance", width=0.8)),
        tuple(
            Row(
                Cell(effect.path),
                (Cell(effect_line(value, effect)), Cell(chance_text(effect.chance), effect.chance)),
            )
            for value, effect in effects
        ),
        note="Chance: of reports without an effect, at most so many show one as strong; the least that is "
        "computed is 1 in 2,000 times the paths looked at.",
    )


def _spread_table(finding: TestFigures) -> Table:
    """All values with median, spread, and the drives at either end."""
    rows = []
    for value in finding.values:
        low, high = value.drives[0], value.drives[-1]
        spread = f"{value.spread:.2g} {value.distance_unit}".rstrip()
        cells_of_row = (
            Cell(str(len(value.drives)), float(len(value.drives))),
            Cell(number(value.median), value.median),
            Cell(spread, value.spread),
            Cell(number(low.value), low.value, low.drive),
            Cell(number(high.value), high.value, high.drive),
            _named_cell(value),
        )
        link = value_page_id(finding, value) if value.differs else ""
        rows.append(Row(Cell(value.title, link=link), cells_of_row))
    columns = (
        Column("Drives", width=0.5),
        Column("Median", width=0.8),
        Column("Spread", width=0.7),
        Column("Smallest", width=0.9),
        Column("Largest", width=0.9),
        Column("Stand out", align="left", width=1.4),
    )
    return Table(
        f"population-{finding.id}-values",
        f"{finding.title}: all values",
        Column("Value", align="left", width=1.7),
        columns,
        tuple(rows),
        note="Spread: 1.4826 times the median distance from the median, which is the standard deviation of "
        "normal values. Below smallest and largest: the drive.",
    )


def _named_cell(value: ValueFigures) -> Cell:
    if value.named:
        note = f"within its {value.within}" if value.within else ""
        return Cell(", ".join(one.drive for one in value.named), note=note, tone="fail")
    return cells.missing(value.reason) if value.reason else Cell("none")


def _left_out_table(left_out: Sequence[LeftOut]) -> Table:
    return Table(
        "population-left-out",
        "Runs that are left out",
        Column("Run", align="left", width=1.5),
        (Column("Why", align="left", width=2),),
        tuple(Row(Cell(one.run), (Cell(one.reason),)) for one in left_out),
    )
