"""Fields of the common header that tests share: range, demand, data pattern, deviations (PTS Annex A)."""

from openpts.fields.conditions import Conditions
from openpts.pages.printable import brief, printable
from openpts.procedures.kit.header import of_cycle, write_cache
from openpts.record.reader import Run
from openpts.units import block_size_kib, format_capacity
from openpts.vocabulary.data import RandomData, RandomOnce
from openpts.vocabulary.phase import Phase


def active_range_text(conditions: Conditions) -> str:
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


def segments_text(conditions: Conditions) -> str:
    """AR Segments."""
    segments = conditions.segments
    return "N/A" if segments is None else f"{segments.count} x {format_capacity(segments.segment_bytes)}"


def data_text(conditions: Conditions) -> str:
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


def head_line(run: Run, phase: Phase, *, demand: str = "", more: str = "") -> str:
    """The line above the tables of a test: id, class, cache, T/Q, data pattern, AR, alignment (Plot 7-5).

    ``part`` is the part of the run that the table is of, ``more`` further words of the test.
    """
    conditions = run.manifest.conditions
    return "  |  ".join(
        text
        for text in (
            brief(printable(run.manifest.test_id)),
            conditions.drive_class.revision,
            write_cache(of_cycle(run.manifest.write_caches, 1)),
            demand,
            f"DP={data_text(conditions)}",
            f"AR={active_range_text(conditions)}",
            _alignment_text(run, phase),
            more,
        )
        if text
    )


# PTS AMB-41
def _alignment_text(run: Run, phase: Phase) -> str:
    """What offsets are multiples of: one size for all, or the usual one with those of other block sizes."""
    target = run.manifest.target
    sizes_by_granule: dict[int, set[int]] = {}
    for step in run.phase(phase):
        if (stimulus := step.sample.step.stimulus) is not None:
            granule = stimulus.granule_bytes(target.user_capacity_bytes, target.sector_bytes)
            sizes_by_granule.setdefault(granule, set()).add(stimulus.block_size_bytes)
    if not sizes_by_granule:
        return ""
    usual, *others = sorted(sizes_by_granule, key=lambda granule: -len(sizes_by_granule[granule]))
    except_for = "".join(
        f" ({block_size_kib(size)}K: {block_size_kib(granule)}K)"
        for granule in others
        for size in sorted(sizes_by_granule[granule])
    )
    return f"Align={block_size_kib(usual)}K{except_for}"


def deviations_text(run: Run) -> str:
    """How many deviations the ledger has: the header's Note."""
    count = len(run.ledger)
    return f"{count} deviation{'' if count == 1 else 's'}" if count else "-"
