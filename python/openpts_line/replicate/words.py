"""A replication in rows of tables."""

from collections.abc import Iterator, Sequence

from openpts.pages.kit import Cells
from openpts.vocabulary.uncertainty import two_digits
from openpts_line.replicate.replication import Agreement, Difference, Replicated


def difference_rows(differences: Sequence[Difference]) -> Iterator[Cells]:
    """Those known to bear on figures first; the others follow in one row, by their names."""
    for one in differences:
        if one.effect:
            yield one.condition, one.passport, one.run, one.effect
    if others := [one.condition for one in differences if not one.effect]:
        yield "also", "", "", ", ".join(others)


def value_rows(values: Sequence[Replicated]) -> Iterator[Cells]:
    """A row for each key value with an uncertainty; the names of the others in a last one."""
    for one in values:
        if None in {one.passport_expanded, one.run_expanded}:
            continue
        verdict = one.reason if one.agreement is Agreement.NO_VERDICT else one.agreement.value
        yield (
            one.key,
            one.unit or "-",
            _with_uncertainty(one.passport, one.passport_expanded),
            _with_uncertainty(one.run, one.run_expanded),
            "-" if one.e_n is None else f"{one.e_n:+.2f}",
            verdict,
        )
    if others := sum(None in {one.passport_expanded, one.run_expanded} for one in values):
        yield f"{others} without U", "-", "", "", "-", "not judged"


def _with_uncertainty(value: float | None, expanded: float | None) -> str:
    if value is None or expanded is None:
        return "-"
    text = two_digits(expanded)
    digits = f"{value:,.{len(text.partition('.')[2])}f}" if expanded else f"{value:,.6g}"
    return f"{digits} ± {text}"
