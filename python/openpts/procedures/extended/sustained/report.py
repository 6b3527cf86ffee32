"""The report of the test of sustained performance.

Implements: HYP-SUS-01 to 05.
"""

from typing import Any, Final

from openpts.analysis.minutes import Piece, minutes_of, pieces_of
from openpts.analysis.saturation import spread_of
from openpts.pages import cells
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Cell, Section, Verdict
from openpts.procedures.extended.sustained.claims import ClaimSource, NamedClaim, claims_page, claims_verdict
from openpts.procedures.extended.sustained.conditions import (
    SHORT_FIGURES,
    Claim,
    ShortFigure,
    SustainedConditions,
)
from openpts.procedures.extended.sustained.pages import (
    Load,
    SustainedRun,
    figure_bytes,
    figure_name,
    load_page,
    load_sentence,
    ratio_page,
)
from openpts.procedures.extended.sustained.results import ClaimResult, Pair, held_ns, pairs_of
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import Curve, iops_curve
from openpts.procedures.kit.header import Rows, demand_text, of_cycle, stimulus_rows
from openpts.procedures.kit.standing import Standing
from openpts.procedures.shared.methodology import methodology_section, state_page
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.better import Better
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import Stimulus

_FRESH, _SUSTAINED = 1, 2
_TITLE: Final = "Sustained Performance and Claims"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    measured = sustained_run(run)
    return ReportContent(
        verdicts=(
            *(Verdict(_ratio_text(measured, pair)) for pair in measured.pairs),
            load_sentence(measured),
            claims_verdict(measured.claims, measured.claim_source),
        ),
        measures=_measures(measured),
        sections=lambda standing, report_date: (_section(measured, standing, report_date),),
        figures=_figures(measured),
        curves=lambda: (_curve(measured),),
    )


# HYP-SUS-05
def _curve(measured: SustainedRun) -> Curve:
    title = measured.conditions.workload.title
    return iops_curve(f"load of {title}", f"Load: IOPS v Time - {title}", measured.load.minutes)


def sustained_run(run: Run) -> SustainedRun:
    """Both runs, the load and the claims, as far as they were measured."""
    conditions = run.manifest.conditions
    assert isinstance(conditions, SustainedConditions)  # noqa: S101 the registry calls by test
    samples = [step.sample for step in run.phase(Phase.LOAD)]
    finished = of_cycle(run.manifest.cycles, 1)
    pieces, minutes = pieces_of(samples), minutes_of(samples, conditions.minute_ns)
    load = Load(
        stimulus=samples[0].step.stimulus if samples else None,
        minutes=minutes,
        spreads=spread_of(minutes, pieces),
        elapsed_ns=pieces[-1].end_ns if pieces else 0,
        written_bytes=sum(sample.write.bytes for sample in samples),
        ios=sum(sample.ios for sample in samples),
        slowest=max(minutes, key=lambda minute: minute.max_latency_ns or 0, default=None),
        ended_by=finished.outcome.ended_by if finished else "",
    )
    pairs = pairs_of(_profile(run, _FRESH), _profile(run, _SUSTAINED))
    claims, source = claims_of(conditions, run.manifest.dut)
    return SustainedRun(
        run=run,
        conditions=conditions,
        pairs=pairs,
        load=load,
        claims=tuple(_result(claim, pairs, pieces, load.stimulus, conditions) for claim in claims),
        claim_source=source,
    )


def _profile(run: Run, number: int) -> list[Sample]:
    steps = run.phase(Phase.PROFILE, number=number)
    return [step.sample for step in steps if step.sample.state is StepState.COMPLETE]


def claims_of(conditions: SustainedConditions, dut: Facts) -> tuple[tuple[Claim, ...], ClaimSource]:
    """The claims that the operator gave; without any, those that the drive's own facts have."""
    if conditions.claims:
        return conditions.claims, ClaimSource("given by the operator")
    rated = {name: dut.get(f"rated_{figure.claim_name}") for name, figure in SHORT_FIGURES.items()}
    facts = {name: fact for name, fact in rated.items() if fact is not None}
    claims = tuple(Claim(name, float(fact.value)) for name, fact in facts.items() if fact.value)
    # without a value, the source says why there is none
    sources = dict.fromkeys(fact.source for fact in facts.values() if fact.value or not claims)
    return claims, ClaimSource("; ".join(sources), stands_in=bool(claims))


def _result(
    claim: Claim,
    pairs: tuple[Pair, ...],
    pieces: tuple[Piece, ...],
    stimulus: Stimulus | None,
    conditions: SustainedConditions,
) -> NamedClaim:
    (pair,) = [pair for pair in pairs if pair.figure.name == claim.figure]
    kept_ns = (
        held_ns(pieces, pair.figure, claim.value)
        if _load_measures(pair.figure, stimulus, conditions)
        else None
    )
    return NamedClaim(figure_name(pair.figure, conditions), ClaimResult(pair, claim.value, kept_ns))


def _load_measures(figure: ShortFigure, stimulus: Stimulus | None, conditions: SustainedConditions) -> bool:
    """Whether the load applies what the figure is of."""
    return (
        stimulus is not None
        and len(stimulus.block_sizes) == 1
        and (stimulus.access_pattern, stimulus.read_pct, stimulus.block_size_bytes)
        == (figure.access_pattern, figure.read_pct, figure_bytes(figure, conditions))
    )


def _ratio_text(measured: SustainedRun, pair: Pair) -> str:
    name = measured.figure_name(pair.figure)
    if pair.ratio_pct is None:
        return f"{name}: sustained performance n/a (not measured in both runs)."
    return (
        f"{name}: sustained performance {cells.fixed(pair.ratio_pct, 1)} % "
        f"({cells.fixed(pair.fresh or 0, 0)} to {cells.fixed(pair.sustained or 0, 0)} {pair.figure.unit})."
    )


def _measures(measured: SustainedRun) -> tuple[Measured, ...]:
    pairs = (_RATIO.of(pair, Subject(measured.figure_name(pair.figure))) for pair in measured.pairs)
    return (*pairs, _SLOWEST.of(measured.load))


_RATIO: Final = Measure[Pair](
    "sustained_pct",
    "{name}, run #2 / run #1",
    "%",
    lambda pair: pair.ratio_pct,
    decimals=1,
    better=Better.HIGHER,
)


def _slowest(load: Load) -> Cell | None:
    slowest_ns = None if load.slowest is None else load.slowest.max_latency_ns
    return None if slowest_ns is None else cells.latency(slowest_ns)


_SLOWEST: Final = Measure[Load](
    "load_max_response_time", "Load, maximum response time", "ms", _slowest, absent="no load"
)


def _section(measured: SustainedRun, standing: Standing, report_date: str) -> Section:
    return methodology_section(
        measured.run,
        standing,
        report_date,
        title=_TITLE,
        test_rows=_test_rows(measured),
        pages=(
            ratio_page(measured),
            load_page(measured),
            claims_page(measured.claims, measured.claim_source, measured.conditions.workload.title),
            state_page(measured.run, "Purge and Laying of the Span"),
        ),
    )


def _test_rows(measured: SustainedRun) -> Rows:
    conditions, load = measured.conditions, measured.load
    sequential, random = conditions.sequential_block_size_bytes, conditions.random_block_size_bytes
    demand = "N/A" if load.stimulus is None else demand_text(load.stimulus.tc, load.stimulus.qd)
    return stimulus_rows(
        measured.run,
        (
            "Test Stimulus 1",
            f"Run #1: SEQ {format_block_size(sequential)}, RND {format_block_size(random)}, W and R",
        ),
        ("TOIO - TC/QD", f"SEQ {demand_text(conditions.sequential_tc, conditions.sequential_qd)}"),
        ("TOIO - TC/QD", f"RND {demand_text(conditions.tc, conditions.qd)}"),
        ("Duration", f"{format_duration(conditions.figure_ns)} each, in {conditions.span_pct:g} % of the AR"),
        ("Test Stimulus 2", f"Load: {conditions.workload.title}"),
        ("TOIO - TC/QD", demand),
        ("Duration", format_duration(load.elapsed_ns) if load.minutes else "NOT RUN"),
        ("Test Stimulus 3", "Run #2: as run #1"),
    )


def _figures(measured: SustainedRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    load = measured.load
    slowest_ns = None if load.slowest is None else load.slowest.max_latency_ns
    return {
        "figures": [
            {
                "figure": pair.figure.name,
                "unit": pair.figure.unit,
                "run_1": pair.fresh,
                "run_2": pair.sustained,
                "sustained_pct": pair.ratio_pct,
            }
            for pair in measured.pairs
        ],
        "load": {
            "elapsed_s": load.elapsed_ns / NS_PER_S,
            "written_bytes": load.written_bytes,
            "max_response_time_ms": None if slowest_ns is None else slowest_ns / NS_PER_MS,
            "ended_by": load.ended_by or None,
        },
        "claims": [
            {
                "figure": result.pair.figure.name,
                "claimed": result.claimed,
                "kept": None if result.pair.sustained is None else not result.missed,
                "held_s": None if result.held_ns is None else result.held_ns / NS_PER_S,
            }
            for result in (claim.result for claim in measured.claims)
        ],
    }
