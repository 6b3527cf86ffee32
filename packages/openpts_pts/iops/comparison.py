"""What a candidate makes of the base in each cell of the IOPS matrix, as a heat map."""

from collections.abc import Sequence
from functools import partial

from openpts.analysis.run_comparison import advantage_pct
from openpts.procedures.kit.content import MedianRun
from openpts.procedures.kit.steps import IOPS
from openpts.vocabulary.verdict import Better
from openpts_pages import cells
from openpts_pages.kit import PlotName, heat_map
from openpts_pages.model import Block, Cell, Verdict
from openpts_pts.shared.rounds.matrix_pages import size_by_mix
from openpts_pts.shared.rounds.results import analyze_cycle

_Point = tuple[int, int]


def blocks(typical: Sequence[MedianRun]) -> tuple[Block, ...]:
    """A heat map for each candidate; none without a base."""
    base, *others = typical
    if not base.is_base:
        return ()
    blocks: list[Block] = []
    for number, one in enumerate(others, start=1):
        title = f"IOPS of {one.name} in % of {base.name}"
        blocks += _heat_map(number, title, _matrix(base), _matrix(one))
        blocks.append(
            Verdict(
                f"One run of each, those with the median of RND 4 KiB RW0: {one.run.manifest.test_id} beside "
                f"{base.run.manifest.test_id}. The second line of each cell is the delta: plus is better."
            )
        )
    return tuple(blocks)


def _matrix(one: MedianRun) -> dict[_Point, float]:
    return {
        (point.block_size_bytes, point.read_pct): value
        for point, cell in analyze_cycle(one.run, 1).cells.items()
        if (value := IOPS.value(cell)) is not None
    }


def _heat_map(number: int, title: str, base: dict[_Point, float], other: dict[_Point, float]) -> list[Block]:
    points = [point for point in base if base[point] and other.get(point)]
    if not points:
        return [Verdict(f"{title}: no cell was measured in both.", "fail")]
    sizes = sorted({size for size, _ in points})
    mixes = sorted({read_pct for _, read_pct in points})
    shares = {point: 100 * other[point] / base[point] for point in points}
    deltas = {point: advantage_pct(base[point], other[point], Better.HIGHER) or 0.0 for point in points}
    share_table, delta_table = (
        size_by_mix(
            f"compare-iops-{key}-{number}", of, sizes, mixes, partial(_cell, values, plus=plus), printed=False
        )
        for key, of, values, plus in (
            ("share", title, shares, False),
            ("delta", f"{title}: delta (%)", deltas, True),
        )
    )
    figure = heat_map(
        PlotName(f"compare-iops-heat-{number}", f"Plot X-COMPARE-IOPS-{number + 1}", title),
        share_table,
        delta_table.id,
        ("R/W mix %", "Block size (KiB)"),
        f"{len(points)} cells, {min(shares.values()):,.1f} to {max(shares.values()):,.1f} %.",
    )
    return [figure, share_table, delta_table]


def _cell(values: dict[_Point, float], size_bytes: int, read_pct: int, *, plus: bool) -> Cell:
    return cells.percent_or("not in both", values.get((size_bytes, read_pct)), 1, plus=plus)
