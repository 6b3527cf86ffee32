"""Fields of the common header that tests share: range, demand, data pattern, deviations (PTS Annex A)."""

from openpts.record.reader import Run
from openpts.units import format_capacity
from openpts.vocabulary.conditions import BaseConditions
from openpts.vocabulary.data_pattern import RandomData, RandomOnce


def active_range_text(conditions: BaseConditions) -> str:
    """``100 %``, or from where to where."""
    covered = conditions.active_range
    if covered.start_pct == 0:
        return f"{covered.end_pct:g} %"
    return f"{covered.start_pct:g} to {covered.end_pct:g} %"


def active_range_amount_text(run: Run) -> str:
    """The range with the bytes that it holds, or those of its LBA segments: AR & Amount."""
    target, conditions = run.manifest.target, run.manifest.conditions
    start, end = conditions.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    segments = conditions.segments
    amount_bytes = end - start if segments is None else segments.count * segments.segment_bytes
    return f"{active_range_text(conditions)}, {format_capacity(amount_bytes)}"


def segments_text(conditions: BaseConditions) -> str:
    """AR Segments."""
    segments = conditions.segments
    return "N/A" if segments is None else f"{segments.count} x {format_capacity(segments.segment_bytes)}"


def data_text(conditions: BaseConditions) -> str:
    """RND, RND_ONCE, or what other pattern was written."""
    match conditions.data:
        case RandomData():
            return "RND"
        case RandomOnce():
            return "RND_ONCE"
        case other:
            return str(other.__struct_config__.tag)


def demand_text(tc: int, qd: int) -> str:
    """``TC 4 / QD 32``."""
    return f"TC {tc} / QD {qd}"


def deviations_text(run: Run) -> str:
    """How many deviations the ledger has: the header's Note."""
    count = len(run.ledger)
    return f"{count} deviation{'' if count == 1 else 's'}" if count else "-"
