"""Builds the report on a population: findings in, model out; no clock, no device, no file."""

from collections.abc import Sequence

from openpts.pages.kit import Col, table
from openpts.pages.model import SCHEMA_VERSION, Block, Cell, Page, Report, Table, Verdict
from openpts.report.population.drives import Populations
from openpts.report.population.findings import NamedDrive, PathEffect, PopulationFinding, ValueFinding
from openpts.report.population.pages import spread_table, value_page
from openpts.report.population.words import (
    OF_THE_LOT,
    RATE,
    RULE,
    SWAP,
    chance_text,
    effect_line,
    number,
    off_text,
    what_may_be_said,
)

_FOOTER = "Population of openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA"


def build_population(
    populations: Populations, findings: Sequence[PopulationFinding], *, paper: str = "a4"
) -> Report:
    """The report as data; its date is the end of the last run."""
    runs = populations.runs
    simulated = all(run.manifest.target.simulation for run in runs)
    kinds = list(dict.fromkeys(" ".join(one.population.kind) for one in findings))
    subtitle = f"{len(populations.drives)} drives: {', '.join(kinds)}"
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
            _front_page(populations, findings),
            *(value_page(finding, value) for finding in findings for value in finding.values),
        ),
        sections=(),
        back=(),
        deviation_count=sum(run.deviations for run in runs),
        stem="population",
        paper=paper,
    )


def _front_page(populations: Populations, findings: Sequence[PopulationFinding]) -> Page:
    named = [(value, one) for finding in findings for value, one in finding.named]
    effects = [effect for finding in findings for effect in finding.effects]
    blocks: list[Block] = [*_verdicts(findings, named, effects)]
    if named:
        blocks += [_named_table(named), Verdict(SWAP)]
    if effects:
        blocks.append(_effects_table(effects))
    blocks += [spread_table(finding) for finding in findings]
    for finding in findings:
        title = f"{finding.population.title}. " if len(findings) > 1 else ""
        blocks += [Verdict(f"{title}{sentence}") for sentence in what_may_be_said(finding)]
    blocks += [Verdict(OF_THE_LOT), Verdict(RULE), Verdict(RATE)]
    if populations.left_out:
        blocks.append(_left_out_table(populations))
    return Page("population", "The population", tuple(blocks), mandatory=True)


def _verdicts(
    findings: Sequence[PopulationFinding],
    named: Sequence[tuple[ValueFinding, NamedDrive]],
    effects: Sequence[PathEffect],
) -> list[Verdict]:
    drives = {one.drive.name for _, one in named}
    values = sum(len(finding.values) for finding in findings)
    noun = "drive stands" if len(drives) == 1 else "drives stand"
    said = [
        Verdict(
            f"{len(drives)} {noun} out: {', '.join(sorted(drives))}.",
            "fail",
        )
        if drives
        else Verdict(f"No drive stands out in any of {values} values.", "pass")
    ]
    paths = list(dict.fromkeys(path for finding in findings for path in finding.paths))
    if effects:
        said.append(
            Verdict(
                f"Values go with {', '.join(dict.fromkeys(one.path for one in effects))}: see below.", "fail"
            )
        )
    elif paths:
        said.append(Verdict(f"No value goes with {', '.join(paths)}.", "pass"))
    else:
        said.append(
            Verdict("Nothing can be said of slots, hosts or starts: the drives share them, or are too few.")
        )
    return said


def _named_table(named: Sequence[tuple[ValueFinding, NamedDrive]]) -> Table:
    columns: list[Col[tuple[ValueFinding, NamedDrive]]] = [
        Col("Value", lambda one: Cell(one[0].name.title), align="left", width=1.7),
        Col("Measured", lambda one: Cell(number(one[1].value), one[1].value), width=0.8),
        Col("Off the median", lambda one: Cell(off_text(one[0].name, one[1].off), one[1].off), width=0.8),
        Col("Chance", lambda one: Cell(chance_text(one[1].chance), one[1].chance), width=0.9),
        Col("Slot", lambda one: Cell(one[1].drive.first.slot or "-"), align="left", width=0.7),
        Col("Host", lambda one: Cell(one[1].drive.first.groups["host"] or "-"), align="left", width=0.7),
    ]
    return table(
        "population-named",
        "Drives that stand out",
        Col("Drive", lambda one: Cell(one[1].drive.name), align="left", width=1.1),
        columns,
        sorted(named, key=lambda one: (one[1].drive.name, one[0].name.key)),
        note="Chance: of reports on sound drives with normal values, at most so many name one as far away.",
    )


def _effects_table(effects: Sequence[PathEffect]) -> Table:
    columns: list[Col[PathEffect]] = [
        Col("What", lambda one: Cell(effect_line(one)), align="left", width=4),
        Col("Chance", lambda one: Cell(chance_text(one.chance), one.chance), width=0.8),
    ]
    return table(
        "population-paths",
        "Values that go with where or when a drive was tested",
        Col("Path", lambda one: Cell(one.path), align="left", width=0.8),
        columns,
        effects,
        note="Chance: of reports without an effect, at most so many show one as strong; the least that is "
        "computed is 1 in 2,000 times the paths looked at.",
    )


def _left_out_table(populations: Populations) -> Table:
    columns: list[Col[tuple[str, str]]] = [Col("Why", lambda one: Cell(one[1]), align="left", width=2)]
    return table(
        "population-left-out",
        "Runs that are left out",
        Col("Run", lambda one: Cell(one[0]), align="left", width=1.5),
        columns,
        populations.left_out,
    )
