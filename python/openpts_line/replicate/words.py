"""A replication in rows of tables."""

from collections.abc import Iterator, Sequence

from openpts.pages.kit import Cells
from openpts_line.replicate.replication import Difference, Replicated


def difference_rows(differences: Sequence[Difference]) -> Iterator[Cells]:
    """A row for each that is known to bear on figures; the others are named in a last one."""
    for one in differences:
        if one.effect:
            yield one.condition, one.passport, one.run, one.effect
    if others := [one.condition for one in differences if not one.effect]:
        yield "also", "", "", ", ".join(others)


def value_rows(values: Sequence[Replicated]) -> Iterator[Cells]:
    """A row for each key value with an uncertainty; how many have none in a last one."""
    judged = [
        one for one in values if None not in {one.passport.expanded_uncertainty, one.run.expanded_uncertainty}
    ]
    for one in judged:
        texts = (one.passport.text, one.run.text, "-" if one.e_n is None else f"{one.e_n:+z.2f}")
        yield one.key, one.run.unit or "-", *texts, one.reason or one.agreement
    if others := len(values) - len(judged):
        yield f"{others} without U", "-", "", "", "-", "not judged"
