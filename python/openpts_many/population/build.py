"""Builds the report on a population: figures in, model out; no clock, no device, no file."""

from collections.abc import Sequence
from typing import Final

from openpts.pages import cells
from openpts.pages.kit import rows_table
from openpts.pages.model import Block, Cell, Page, Report, Table, Verdict
from openpts_many.population.drives import Populations
from openpts_many.population.figures import LeftOut, PopulationFigures, TestFigures, ValueFigures
from openpts_many.population.pages import pages_of, value_page_id
from openpts_many.population.words import (
    OF_THE_LOT,
    RATE,
    RULE,
    SWAP,
    beside_text,
    chance_text,
    effect_line,
    least_text,
    number,
    off_text,
    too_few,
    what_may_be_said,
)

_FOOTER: Final = "Population of openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA"


def build_population(populations: Populations, figures: PopulationFigures, *, paper: str = "a4") -> Report:
    """The report as data; its date is the end of the last run."""
    runs = populations.runs
    simulated = all(run.manifest.target.simulation for run in runs)
    kinds = list(dict.fromkeys(" ".join(one.kind) for one in figures.populations))
    subtitle = f"{len(figures.drives)} drives: {', '.join(kinds)}"
    lines = list(dict.fromkeys(run.red_line for run in runs if run.red_line))
    return Report(
        title=f"{'SIMULATED ' if simulated else ''}SSD Population",
        subtitle=subtitle,
        run_name=subtitle,
        report_date=max(run.manifest.ended_at or run.started_at for run in runs),
        red_line=f"{lines[0]}{f'; and {len(lines) - 1} more' if len(lines) > 1 else ''}" if lines else "",
        footer=_FOOTER,
        front=(_front_page(figures), *(page for one in figures.populations for page in pages_of(one))),
        deviation_count=sum(run.deviation_count for run in runs),
        stem="population",
        paper=paper,
    )


def _front_page(figures: PopulationFigures) -> Page:
    tests = figures.populations
    blocks = _findings(figures) if any(test.is_judged for test in tests) else _of_paths(figures, "")
    blocks += map(_spread_table, tests)
    for test in tests:
        title = f"{test.title}. " if len(tests) > 1 else ""
        sentences = what_may_be_said(test) if test.is_judged else (too_few(test),)
        blocks += [Verdict(f"{title}{sentence}") for sentence in sentences]
    if any(test.is_judged for test in tests):
        texts = (OF_THE_LOT, RULE, least_text(figures.least_difference), RATE)
        blocks += [Verdict(text) for text in texts if text]
    if figures.left_out:
        blocks.append(_left_out_table(figures.left_out))
    return Page("population", "The population", tuple(blocks), mandatory=True)


def _findings(figures: PopulationFigures) -> list[Block]:
    """The drives that stand out or are worth a look, and what goes with a path."""
    values = [(test, value) for test in figures.populations if test.is_judged for value in test.values]
    named = sorted({one.drive for _, value in values for one in value.named})
    others = sorted({one.drive for _, value in values for one in value.suspected} - set(named))
    blocks: list[Block] = [Verdict(f"No drive stands out in any of {len(values)} values.", "pass")]
    if named:
        blocks = [Verdict(f"{_count(named, 'stands', 'stand')} out: {', '.join(named)}.", "fail")]
    if others:
        blocks.append(Verdict(f"{_count(others, 'is', 'are')} worth a look: {', '.join(others)}."))
    blocks += _of_paths(
        figures, "Nothing can be said of slots, hosts or starts: drives share them, or are too few."
    )
    if named or others:
        blocks += [_outliers_table(values), Verdict(SWAP)]
    return blocks


def _count(drives: Sequence[str], one: str, several: str) -> str:
    return f"1 drive {one}" if len(drives) == 1 else f"{len(drives)} drives {several}"


def _of_paths(figures: PopulationFigures, otherwise: str) -> list[Block]:
    """The values that go with where or when a drive was tested; ``otherwise`` where that can't be judged."""
    found = [(v, one) for test in figures.populations for v in test.values for one in v.effects]
    if found:
        return [
            Verdict(f"{effect_line(*one)} (chance {chance_text(one[1].chance)}).", "fail") for one in found
        ]
    if paths := dict.fromkeys(path for test in figures.populations for path in test.paths):
        return [Verdict(f"No value goes with {', '.join(paths)}.", "pass")]
    return [Verdict(otherwise)] if otherwise else []


def _outliers_table(values: Sequence[tuple[TestFigures, ValueFigures]]) -> Table:
    """What each drive is off in, and by how much those in the slots beside it are; the worst first."""
    found = [(test, value, one) for test, value in values for one in (*value.named, *value.suspected)]
    named = {one.drive for _, value in values for one in value.named}
    least: dict[str, float] = {}
    for _, _, one in sorted(found, key=lambda f: f[2].chance):
        least.setdefault(one.drive, one.chance)
    has_slots = any(one.slot for _, _, one in found)
    heads = "Drive:<0.9 | Value:<1.7 | Measured:0.8 | Off the median:0.8 | Chance:0.8"
    rows = []
    for test, value, one in sorted(found, key=lambda f: (least[f[2].drive], f[2].drive, f[2].chance)):
        row = [
            Cell(one.drive, tone="fail" if one.drive in named else ""),
            Cell(value.title, link=value_page_id(test, value)),
            Cell(number(one.value), one.value),
            Cell(off_text(value, one.off), one.off),
            Cell(chance_text(one.chance), one.chance),
        ]
        if has_slots:
            row += [Cell(one.slot or "-", note=one.host), Cell(beside_text(value, one) or "-")]
        rows.append(row)
    heads += " | Slot:<0.7 | Slots beside:<1.2" if has_slots else ""
    return rows_table("population-outliers", "Drives that stand out or are worth a look", heads, rows)


def _spread_table(finding: TestFigures) -> Table:
    """All values with median, spread, and the drives at either end."""
    rows = []
    for value in finding.values:
        count, all_have = len(value.drives), len(value.drives) == finding.drives
        low, high = value.drives[0], value.drives[-1]
        spread = f"{value.spread:.2g} {value.distance_unit}".rstrip()
        link = value_page_id(finding, value) if value.differs else ""
        rows.append(
            (
                Cell(value.title, note="" if all_have else f"of {count} drives", link=link),
                Cell(number(value.median), value.median),
                Cell(spread, value.spread),
                Cell(number(low.value), low.value, low.drive),
                Cell(number(high.value), high.value, high.drive),
                *((_named_cell(value),) if finding.is_judged else ()),
            )
        )
    heads = "Value:<1.7 | Median:0.8 | Spread:0.7 | Smallest:0.9 | Largest:0.9"
    return rows_table(
        f"population-{finding.id}-values",
        f"{finding.title}: all values of {finding.drives} drives",
        f"{heads} | Stand out:<1.4" if finding.is_judged else heads,
        rows,
        note="Spread: 1.4826 times the median distance from the median, which is the standard deviation of "
        "normal values. Below smallest and largest: the drive.",
    )


def _named_cell(value: ValueFigures) -> Cell:
    if value.named:
        note = f"within its {value.within}" if value.within else ""
        return Cell(", ".join(one.drive for one in value.named), note=note, tone="fail")
    if value.suspected:
        return Cell(", ".join(one.drive for one in value.suspected), note="worth a look")
    return cells.missing(value.reason) if value.reason else Cell("none")


def _left_out_table(left_out: Sequence[LeftOut]) -> Table:
    return rows_table(
        "population-left-out",
        "Runs that are left out",
        "Run:<1.5 | Why:<2",
        ((one.run, one.reason) for one in left_out),
    )
