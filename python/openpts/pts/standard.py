"""Compares the conditions of a run with those of the specification: the ledger of shortenings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from openpts.units import block_size_kib, format_duration
from openpts.vocabulary.conditions import TestConditions
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.stimulus import ActiveRange


@dataclass(frozen=True, slots=True)
class Rule:
    """A requirement on one field of the conditions, and what breaking it does to the results."""

    field: str
    rule_id: str
    clause: str
    effect: str


def deviations(
    used: TestConditions, standard: TestConditions, rules: Sequence[Rule]
) -> tuple[Deviation, ...]:
    """One entry for each rule whose field differs from the standard's.

    More rounds than the standard's are no deviation: 7.2 (3.2.1.2.3) lets the operator go on.
    """
    if used.max_rounds > standard.max_rounds:
        standard = replace(standard, max_rounds=used.max_rounds)
    return tuple(
        Deviation(
            rule_id=rule.rule_id,
            clause=rule.clause,
            required=_text(rule.field, getattr(standard, rule.field)),
            used=_text(rule.field, getattr(used, rule.field)),
            effect=rule.effect,
        )
        for rule in rules
        if getattr(used, rule.field) != getattr(standard, rule.field)
    )


def without_impossible_sizes(conditions: TestConditions, sector_bytes: int) -> TestConditions:
    """Leave out the block sizes that are no multiple of the sector; they are kept as skipped."""
    possible = tuple(size for size in conditions.block_sizes_bytes if size % sector_bytes == 0)
    skipped = tuple(size for size in conditions.block_sizes_bytes if size % sector_bytes != 0)
    return replace(conditions, block_sizes_bytes=possible, skipped_block_sizes_bytes=skipped)


def _text(field: str, value: object) -> str:
    match field, value:
        case "step_duration_ns", int(duration_ns):
            return f"{format_duration(duration_ns)} per step"
        case "precondition_passes", passes:
            return f"{passes:g} x user capacity"
        case "active_range", ActiveRange() as active_range:
            return f"AR {active_range.start_pct:g}-{active_range.end_pct:g} %"
        case "block_sizes_bytes", tuple(sizes):
            return f"{', '.join(block_size_kib(size) for size in sizes)} KiB"
        case "max_rounds", rounds:
            return f"up to {rounds} rounds"
        case _:
            return f"{field.upper()} {value}"
