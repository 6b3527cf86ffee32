"""A population for machines: what ``--json`` prints."""

from collections.abc import Sequence

from msgspec import Struct

from openpts.analysis.population import (
    confidence_between_ends,
    confidence_beyond_one_end,
    median_ranks,
    missed_share,
)
from openpts.report.population.drives import Populations
from openpts.report.population.findings import FALSE_ALARM, PopulationFinding, ValueFinding
from openpts.vocabulary.better import Better
from openpts.vocabulary.document import Document


class DriveValue(Struct, frozen=True):
    """A drive's value: the median of its runs."""

    drive: str
    slot: str | None
    host: str
    value: float
    runs: int


class NamedValue(Struct, frozen=True):
    """An outlier; ``off`` is in per cent of the median, of temperatures in K."""

    drive: str
    value: float
    off: float
    chance: float


class Effect(Struct, frozen=True):
    """A value goes with a path; ``medians`` by group, or ``end_to_end`` along an order, as ``off`` above."""

    path: str
    chance: float
    medians: dict[str, float]
    end_to_end: float | None


class ValueFigures(Struct, frozen=True):
    """A value over the drives. ``spread`` is in per cent, of temperatures in K.

    ``named_below`` and ``named_above`` are None where nothing can be named, for the ``reason``.
    """

    key: str
    label: str
    unit: str
    better: Better
    median: float
    spread: float
    named_below: float | None
    named_above: float | None
    within: str | None
    reason: str | None
    drives: list[DriveValue]
    named: list[NamedValue]
    effects: list[Effect]


class TestFigures(Struct, frozen=True):
    """A population of one test. Confidences are of 90 % of the population, shares with 95 % confidence."""

    test: str
    kind: list[str]
    condition: str | None
    drives: int
    paths: list[str]
    confidence_beyond_one_end: float
    confidence_between_ends: float
    median_rank: int | None
    missed_share: float
    values: list[ValueFigures]


class LeftOut(Struct, frozen=True):
    """A run without a part in the population."""

    run: str
    reason: str


class PopulationFigures(Document, frozen=True, kw_only=True, tag="openpts.population/1"):
    """How the drives differ, for each test; chances and shares are from 0 to 1."""

    simulated: bool
    false_alarm: float
    drives: list[str]
    populations: list[TestFigures]
    left_out: list[LeftOut]
    reports: tuple[str, ...] = ()


def population_figures(
    populations: Populations, findings: Sequence[PopulationFinding], reports: Sequence[str] = ()
) -> PopulationFigures:
    """All values with their units; chances and shares from 0 to 1."""
    return PopulationFigures(
        simulated=any(run.manifest.target.simulation for run in populations.runs),
        false_alarm=FALSE_ALARM,
        drives=list(populations.drives),
        populations=[_test(finding) for finding in findings],
        left_out=[LeftOut(run, reason) for run, reason in populations.left_out],
        reports=tuple(reports),
    )


def _test(finding: PopulationFinding) -> TestFigures:
    own = finding.population
    count = len(own.drives)
    ranks = median_ranks(count)
    return TestFigures(
        test=own.test,
        kind=list(own.kind),
        condition=own.drives[0].first.condition or None,
        drives=count,
        paths=list(finding.paths),
        confidence_beyond_one_end=confidence_beyond_one_end(count),
        confidence_between_ends=confidence_between_ends(count),
        median_rank=None if ranks is None else ranks[0],
        missed_share=missed_share(count),
        values=[_value(one) for one in finding.values],
    )


def _value(one: ValueFinding) -> ValueFigures:
    return ValueFigures(
        key=one.name.key,
        label=one.name.label,
        unit=one.name.unit,
        better=one.name.better,
        median=one.median,
        spread=one.spread,
        named_below=one.low,
        named_above=one.high,
        within=one.within or None,
        reason=one.reason or None,
        drives=[
            DriveValue(
                drive.name,
                drive.first.slot,
                drive.first.groups["host"],
                value,
                len(drive.values(one.name.key)),
            )
            for drive, value in one.drives
        ],
        named=[NamedValue(n.drive.name, n.value, n.off, n.chance) for n in one.named],
        effects=[
            Effect(e.path, e.chance, {group: middle for group, _, middle in e.groups}, e.end_to_end)
            for e in one.effects
        ],
    )
