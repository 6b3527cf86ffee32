"""The report of the test of sustained performance.

Implements: HYP-SUS-01 to 05.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.minutes import minutes_of, pieces_of
from openpts.analysis.saturation import spread_of
from openpts.pages import cells
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Page, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import Curve, iops_curve
from openpts.procedures.kit.header import Rows, demand_text, of_cycle, stimulus_rows
from openpts.procedures.kit.spread import repeat_figures
from openpts.procedures.kit.steps import MRT
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.record.reader import Run
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.better import Better
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.phase import Phase
from openpts_practice.benchmark_rows.benchmark_profile import FigureUnit
from openpts_practice.benchmark_rows.tables import MeasuredRow, measured_row, spread_verdicts, value_text
from openpts_practice.sustained import DATA_SHEET_FIGURES, Claim, SustainedConditions
from openpts_practice.sustained.pages import (
    MeasuredLoad,
    SustainedRun,
    definition_page,
    load_page,
    load_sentence,
    ratio_page,
)
from openpts_practice.sustained.results import ClaimSource, Pair, claim_result, claims_page, claims_verdict

_TITLE: Final = "Sustained Performance and Claims"
_MOST_ON_COVER: Final = 16


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    measured = sustained_run(run)
    return ReportContent(
        verdicts=(
            _ratios_verdict(measured.pairs),
            *spread_verdicts(
                (f"{pair.name}, {name}", of_run.first_figure)
                for pair in measured.pairs
                for name, of_run in (("run #1", pair.fresh), ("run #2", pair.sustained))
            ),
            load_sentence(measured),
            claims_verdict(measured.claims, measured.claim_source),
        ),
        measures=_measures(measured),
        sections=methodology(measured.run, _TITLE, _test_rows(measured), lambda: _pages(measured)),
        figures=lambda: _figures(measured),
        curves=lambda: (_curve(measured),),
    )


# HYP-SUS-05
def _curve(measured: SustainedRun) -> Curve:
    title = measured.conditions.workload.title
    return iops_curve(f"load of {title}", f"Load: IOPS v Time - {title}", measured.load.minutes)


def sustained_run(run: Run) -> SustainedRun:
    """Load, idle recovery and claims, as far as they were measured."""
    conditions = run.conditions(SustainedConditions)
    samples = [step.sample for step in run.phase(Phase.LOAD)]
    finished = of_cycle(run.manifest.cycles, 1)
    pieces, minutes = pieces_of(samples), minutes_of(samples, conditions.minute_ns)
    load = MeasuredLoad(
        stimulus=samples[0].step.stimulus if samples else None,
        minutes=minutes,
        spreads=spread_of(minutes, pieces),
        elapsed_ns=pieces[-1].end_ns if pieces else 0,
        written_bytes=sum(sample.write.bytes for sample in samples),
        ios=sum(sample.ios for sample in samples),
        slowest=max(minutes, key=lambda minute: minute.max_latency_ns or 0, default=None),
        ended_by=finished.outcome.ended_by if finished else "",
    )
    fresh, sustained = (_rows_of(run, conditions, number) for number in (0, 1))
    several = len(conditions.benchmarks) > 1
    pairs = tuple(
        Pair(benchmark.title if several else "", *both)
        for (benchmark, _), *both in zip(conditions.rows, fresh, sustained, strict=True)
    )
    claims, source = claims_of(conditions, run.manifest.dut)
    return SustainedRun(
        run=run,
        conditions=conditions,
        pairs=pairs,
        load=load,
        claims=tuple(claim_result(claim, pairs, pieces, load.stimulus) for claim in claims),
        claim_source=source,
    )


def _rows_of(run: Run, conditions: SustainedConditions, runs_before: int) -> list[MeasuredRow]:
    """The rows of run #1, or of run #2."""
    rows = conditions.rows
    return [
        measured_row(
            row, [step.sample for step in run.phase(Phase.PROFILE, number=number)], conditions.set_rule
        )
        for number, (_, row) in enumerate(rows, start=runs_before * len(rows) + 1)
    ]


def claims_of(conditions: SustainedConditions, dut: Facts) -> tuple[tuple[Claim, ...], ClaimSource]:
    """The claims that the operator gave; without any, those that the drive's own facts have."""
    if conditions.claims:
        return conditions.claims, ClaimSource("given by the operator")
    rated = {name: dut.get(f"rated_{figure.claim_name}") for name, figure in DATA_SHEET_FIGURES.items()}
    facts = {name: fact for name, fact in rated.items() if fact is not None}
    claims = tuple(Claim(name, float(fact.value)) for name, fact in facts.items() if fact.value)
    # without a value, the source says why there is none
    sources = dict.fromkeys(fact.source for fact in facts.values() if fact.value or not claims)
    return claims, ClaimSource("; ".join(sources), stands_in=bool(claims))


# HYP-SUS-03
def _ratios_verdict(pairs: Sequence[Pair]) -> Verdict:
    """The rows that lose most and least, and those of which there is no ratio."""
    found = [(ratio_pct, pair) for pair in pairs if (ratio_pct := pair.ratio_pct(_unit(pair))) is not None]
    if not found:
        return Verdict("Sustained performance: n/a (no row was measured in both runs).", "fail")
    ratios = [ratio_pct for ratio_pct, _ in found]
    texts = [_ratio_text(*found[ratios.index(least)]) for least in dict.fromkeys((min(ratios), max(ratios)))]
    missing = len(pairs) - len(found)
    left = f"; {missing} of {len(pairs)} rows have no figure in both runs" if missing else ""
    return Verdict(f"Sustained performance: {' to '.join(texts)}{left}.", "fail" if missing else "info")


def _ratio_text(ratio_pct: float, pair: Pair) -> str:
    unit = _unit(pair)
    fresh, sustained = (value_text(value or 0, unit) for value in pair.values(unit))
    return f"{cells.fixed(ratio_pct, 1)} % ({pair.name}, {fresh} to {sustained} {unit})"


def _unit(pair: Pair) -> FigureUnit:
    return pair.row.units[0]


def _measures(measured: SustainedRun) -> tuple[Measured, ...]:
    ratio = _RATIO if len(measured.pairs) <= _MOST_ON_COVER else dataclasses.replace(_RATIO, on_cover=False)
    pairs = (ratio.of(pair, Subject(pair.name)) for pair in measured.pairs)
    return (*pairs, _SLOWEST.of(measured.load))


_RATIO: Final = Measure[Pair](
    "sustained_pct",
    "{name}, run #2 / run #1",
    "%",
    lambda pair: pair.ratio_pct(_unit(pair)),
    decimals=1,
    better=Better.HIGHER,
    words="left of the fresh figure",
)


_MRT: Final = replace(MRT, absent="no load")
_SLOWEST: Final = Measure[MeasuredLoad](
    "load_max_response_time", "Load, maximum response time", "ms", lambda load: _MRT.cell(load.slowest)
)


def _pages(measured: SustainedRun) -> tuple[Page, ...]:
    claims, source, manifest = measured.claims, measured.claim_source, measured.run.manifest
    return (
        ratio_page(measured),
        definition_page(measured),
        load_page(measured),
        claims_page(claims, source, measured.conditions.workload.title, manifest.purpose),
        state_page(measured.run, "Purge and Test Files"),
    )


def _test_rows(measured: SustainedRun) -> Rows:
    conditions, load = measured.conditions, measured.load
    demand = "N/A" if load.stimulus is None else demand_text(load.stimulus.tc, load.stimulus.qd)
    return stimulus_rows(
        measured.run,
        ("Test Stimulus 1", f"Run #1: {', '.join(one.name for one in conditions.benchmarks)}"),
        ("Rows", str(len(conditions.rows))),
        ("TOIO - TC/QD", "see definitions"),
        ("Duration", "see definitions"),
        ("Test Stimulus 2", f"Load: {conditions.workload.title}"),
        ("TOIO - TC/QD", demand),
        ("Duration", format_duration(load.elapsed_ns) if load.minutes else "NOT RUN"),
        ("Test Stimulus 3", "Run #2: as run #1"),
    )


def _figures(measured: SustainedRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    load = measured.load
    return {
        "figures": [
            {
                "row": pair.name,
                "unit": unit.value,
                **dict(zip(("run_1", "run_2"), pair.values(unit), strict=True)),
                "sustained_pct": pair.ratio_pct(unit),
                "passes": {
                    name: None if (figure := one.figure(unit)) is None else repeat_figures(figure.passes)
                    for name, one in (("run_1", pair.fresh), ("run_2", pair.sustained))
                },
            }
            for pair in measured.pairs
            for unit in pair.row.units
        ],
        "load": {
            "elapsed_s": load.elapsed_ns / NS_PER_S,
            "written_bytes": load.written_bytes,
            "max_response_time_ms": MRT.value(load.slowest),
            "ended_by": load.ended_by or None,
        },
        "claims": [
            {
                "figure": claim.figure.name,
                "claimed": claim.claimed,
                "kept": None if claim.sustained is None else not claim.missed,
                "held_s": None if claim.held_ns is None else claim.held_ns / NS_PER_S,
            }
            for claim in measured.claims
        ],
    }
