"""The conditions of the test of sustained performance."""

from openpts.vocabulary.practice_conditions import PracticeConditions
from openpts.vocabulary.short_figures import Claim
from openpts.vocabulary.workload import Workload


class SustainedConditions(PracticeConditions, frozen=True, kw_only=True, tag_field="test", tag="sustained"):
    """Short figures on the fresh drive, a long load, and the same figures again.

    The figures are measured for ``figure_ns`` each, in the first ``span_pct`` of the active range, which is
    laid before them. ``workload`` is applied at ``tc`` and ``qd`` until ``drive_fills`` user capacities are
    written or ``longest_ns`` have passed. ``claims`` are values of the drive's data sheet.
    """

    sequential_block_size_bytes: int
    sequential_tc: int
    sequential_qd: int
    random_block_size_bytes: int
    tc: int
    qd: int
    figure_ns: int
    span_pct: float
    workload: Workload
    drive_fills: float
    longest_ns: int
    claims: tuple[Claim, ...] = ()
