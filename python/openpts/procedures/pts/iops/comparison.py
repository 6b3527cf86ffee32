"""What a candidate makes of the base in each cell of the IOPS matrix, as a heat map."""

from collections.abc import Sequence

from openpts.analysis.run_comparison import advantage_pct
from openpts.pages import cells
from openpts.pages.kit import PlotName, heat_map, rows_table
from openpts.pages.model import Block, Cell, Column, Table, Verdict
from openpts.procedures.kit.content import MedianRun
from openpts.units import block_size_kib
from openpts.vocabulary.better import Better

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
        (cell["block_size_bytes"], cell["read_pct"]): cell["iops"] for cell in one.content.figures["iops"]
    }


def _heat_map(number: int, title: str, base: dict[_Point, float], other: dict[_Point, float]) -> list[Block]:
    points = [point for point in base if base[point] and other.get(point)]
    if not points:
        return [Verdict(f"{title}: no cell was measured in both.", "fail")]
    sizes = sorted({size for size, _ in points})
    mixes = sorted({read_pct for _, read_pct in points})
    shares = {point: 100 * other[point] / base[point] for point in points}
    deltas = {point: advantage_pct(base[point], other[point], Better.HIGHER) or 0.0 for point in points}
    share_table = _table(f"compare-iops-share-{number}", title, sizes, mixes, shares, plus=False)
    delta_table = _table(
        f"compare-iops-delta-{number}", f"{title}: delta (%)", sizes, mixes, deltas, plus=True
    )
    figure = heat_map(
        PlotName(f"compare-iops-heat-{number}", f"Plot X-COMPARE-IOPS-{number + 1}", title),
        share_table,
        delta_table.id,
        ("R/W mix %", "Block size (KiB)"),
        f"{len(points)} cells, {min(shares.values()):,.1f} to {max(shares.values()):,.1f} %.",
    )
    return [figure, share_table, delta_table]


def _table(
    table_id: str,
    title: str,
    sizes: list[int],
    mixes: list[int],
    values: dict[_Point, float],
    *,
    plus: bool,
) -> Table:
    return rows_table(
        table_id,
        title,
        (
            "Block size (KiB):0.62",
            *(Column(f"{read_pct}/{100 - read_pct}", float(read_pct)) for read_pct in mixes),
        ),
        (
            (
                Cell(block_size_kib(size), size / 1024),
                *(_cell(values.get((size, read_pct)), plus=plus) for read_pct in mixes),
            )
            for size in sizes
        ),
        group="Read / Write Mix %",
        printed=False,
    )


def _cell(value: float | None, *, plus: bool) -> Cell:
    return cells.percent_or("not in both", value, 1, plus=plus)
