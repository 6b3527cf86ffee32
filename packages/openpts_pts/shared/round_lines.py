"""What a round of a test measured, in one line at its end: what the test judges by, not all figures."""

from openpts.cli.log_lines import iops_and_times
from openpts.runner.progress import RunProgress
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import SteadyFigure
from openpts.vocabulary.verdict import UNITS
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.rounds.conditions import RoundConditions


def round_line(progress: RunProgress) -> str | None:
    """A round of test points, or of demands; None for another phase."""
    if progress.apply is None or progress.apply.phase is not Phase.ROUND:
        return None
    match progress.conditions:
        case RoundConditions() as conditions:
            return _tracked_points(conditions, progress)
        case DemandConditions() as conditions:
            return _tracked_demand(conditions, progress)
    return None


def _tracked_points(conditions: RoundConditions, progress: RunProgress) -> str:
    """Only what steady state is judged by: 56 figures would hide it."""
    return ", ".join(
        f"{variable.point} {_figure_text(variable.of(sample), variable.figure)}"
        for variable in conditions.tracking
        for sample in progress.finished
        if variable.matches(sample.step.stimulus)
    )


def _tracked_demand(conditions: DemandConditions, progress: RunProgress) -> str:
    operating_point = (conditions.precondition_tc, conditions.precondition_qd)
    return ", ".join(
        f"TC {stimulus.tc} QD {stimulus.qd} {iops_and_times(sample)}"
        for sample in progress.finished
        if (stimulus := sample.step.stimulus) and (stimulus.tc, stimulus.qd) == operating_point
    )


def _figure_text(value: float, figure: SteadyFigure) -> str:
    digits = {SteadyFigure.IOPS: 0, SteadyFigure.THROUGHPUT: 1, SteadyFigure.MEAN_LATENCY: 3}[figure]
    return f"{value:,.{digits}f} {UNITS[figure]}"
