"""The report of the entropy and write-share sweeps.

Implements: LSI-ENT-01, LSI-ENT-02, LSI-MIX-01, LSI-GEN-03.
"""

from collections.abc import Sequence
from typing import Any, Final

from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Page
from openpts.procedures.extended.entropy.conditions import EntropyConditions
from openpts.procedures.extended.entropy.pages import (
    FEW_WRITES_PCT,
    EntropyRun,
    effect_verdict,
    entropy_page,
    generator_page,
    loss_verdict,
    share_page,
)
from openpts.procedures.extended.entropy.results import (
    EntropyEffect,
    Level,
    entropy_effect,
    levels_of,
    loss_pct,
    sweep_drift_pct,
)
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, active_range_amount_text, data_text, demand_text
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.record.reader import Run
from openpts.units import MB, format_block_size, format_duration
from openpts.vocabulary.better import Better
from openpts.vocabulary.data import ReducibleData
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState

_SEQUENTIAL, _RANDOM, _WRITE_SHARE = 1, 2, 3
_TITLE: Final = "Entropy and Write-Share Sweeps"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    measured = entropy_run(run)
    return ReportContent(
        verdicts=(
            effect_verdict(measured.sequential_name, measured.sequential),
            effect_verdict(measured.random_name, measured.random),
            loss_verdict(measured),
        ),
        measures=_measures(measured),
        sections=methodology(measured.run, _TITLE, _test_rows(measured), lambda: _pages(measured)),
        figures=_figures(measured),
    )


def entropy_run(run: Run) -> EntropyRun:
    """The three sweeps as far as they were measured."""
    conditions = run.conditions(EntropyConditions)
    return EntropyRun(
        run=run,
        conditions=conditions,
        sequential=levels_of(
            (_entropy_pct(sample), sample.bandwidth_bytes_per_s / MB) for sample in _sweep(run, _SEQUENTIAL)
        ),
        random=levels_of((_entropy_pct(sample), sample.iops) for sample in _sweep(run, _RANDOM)),
        write_share=levels_of((_write_pct(sample), sample.iops) for sample in _sweep(run, _WRITE_SHARE)),
    )


def _sweep(run: Run, number: int) -> list[Sample]:
    """The whole steps of a sweep, in their order."""
    steps = run.phase(Phase.SWEEP, number=number)
    return [step.sample for step in steps if step.sample.state is StepState.COMPLETE]


def _entropy_pct(sample: Sample) -> float:
    stimulus = sample.step.stimulus
    assert stimulus is not None  # noqa: S101 no level of a sweep is idle
    assert isinstance(stimulus.data, ReducibleData)  # noqa: S101 nor of another pattern
    return stimulus.data.entropy_pct


def _write_pct(sample: Sample) -> float:
    stimulus = sample.step.stimulus
    assert stimulus is not None  # noqa: S101 no level of a sweep is idle
    return 100 - stimulus.read_pct


def _measures(measured: EntropyRun) -> tuple[Measured, ...]:
    loss = loss_pct(measured.write_share, FEW_WRITES_PCT)
    return (
        _EFFECT.of(entropy_effect(measured.sequential), Subject(measured.sequential_name)),
        _EFFECT.of(entropy_effect(measured.random), Subject(measured.random_name)),
        _LOSS.of(loss, Subject(measured.mix_name)),
    )


# how much a drive gains by reducing data says nothing of how fast it is
_EFFECT: Final = Measure[EntropyEffect](
    "entropy_factor", "{name}, least / most entropy", "x", lambda effect: effect.factor, decimals=2
)
_LOSS: Final = Measure[float](
    "loss_at_few_writes",
    f"{{name}}, loss at {FEW_WRITES_PCT} % writes",
    "%",
    lambda loss: loss,
    decimals=1,
    better=Better.LOWER,
)


def _pages(measured: EntropyRun) -> tuple[Page, ...]:
    return (
        state_page(measured.run, "Purge and Pre-conditioning"),
        entropy_page(measured),
        share_page(measured),
        generator_page(measured),
    )


def _test_rows(measured: EntropyRun) -> Rows:
    conditions = measured.conditions
    sequential = demand_text(conditions.sequential_tc, conditions.sequential_qd)
    random = demand_text(conditions.tc, conditions.qd)
    return (
        ("Data Pattern", f"entropy {_span(conditions.entropies_pct)} %"),
        ("AR & Amount", active_range_amount_text(measured.run)),
        ("Test Stimulus 1", f"{measured.sequential_name}, sweep of entropy"),
        ("TOIO - TC/QD", sequential),
        ("Test Stimulus 2", f"{measured.random_name}, sweep of entropy"),
        ("TOIO - TC/QD", random),
        ("Test Stimulus 3", f"RND {format_block_size(conditions.random_block_size_bytes)}, sweep of writes"),
        ("Data Pattern", data_text(conditions)),
        ("TOIO - TC/QD", random),
        ("Duration", f"{format_duration(conditions.minute_ns)} per visit of a level"),
    )


def _span(values: Sequence[float]) -> str:
    return f"{min(values):g} to {max(values):g}"


def _figures(measured: EntropyRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "sequential_write": _sweep_figures(measured.sequential, "entropy_pct", "mb_per_s"),
        "random_write": _sweep_figures(measured.random, "entropy_pct", "iops"),
        "write_share": {
            **_levels_figures(measured.write_share, "write_pct", "iops"),
            "loss_at_5_pct_writes_pct": loss_pct(measured.write_share, FEW_WRITES_PCT),
        },
    }


def _sweep_figures(levels: Sequence[Level], level_name: str, name: str) -> dict[str, Any]:
    effect: EntropyEffect | None = entropy_effect(tuple(levels))
    return {
        **_levels_figures(levels, level_name, name),
        "factor": effect.factor if effect else None,
        "factor_interval": effect.interval if effect else None,
        "verdict": effect.reduction.value if effect else None,
    }


def _levels_figures(levels: Sequence[Level], level_name: str, name: str) -> dict[str, Any]:
    return {
        "levels": [
            {
                level_name: level.level,
                name: level.mean,
                f"{name}_of_visits": list(level.visits),
                "rse_pct": level.rse_pct,
            }
            for level in levels
        ],
        "largest_drift_pct": sweep_drift_pct(tuple(levels)),
    }
