"""What a row of a benchmark measured, in one line at its end."""

from openpts.procedures.kit.content import spread_remarks
from openpts.runner.progress import RunProgress
from openpts.vocabulary.sample import Phase
from openpts_practice.rows.conditions import ProfileTestConditions
from openpts_practice.rows.steps import passes_of, row_figure


def phase_line(progress: RunProgress) -> str | None:
    """A row of a benchmark as its users know it; None for another phase."""
    conditions, apply = progress.conditions, progress.apply
    if not isinstance(conditions, ProfileTestConditions) or apply is None or apply.phase is not Phase.PROFILE:
        return None
    where, row = conditions.row_of(apply.number)
    passes = passes_of(row, [*progress.earlier_passes, *progress.finished])
    figure = row_figure(passes, row.units[0], row.statistic, conditions.set_rule)
    if figure is None:
        return f"{where}, {row.title}: no I/O"
    spread = ", ".join(spread_remarks(figure.passes, "pass"))
    of = f" ({row.statistic} of {len(passes)} passes; {spread})" if len(passes) > 1 else ""
    decimals = 0 if figure.shown >= 1000 else 1 if figure.shown >= 10 else 3
    return f"{where}, {row.title}: {figure.shown:,.{decimals}f} {figure.unit}{of}"
