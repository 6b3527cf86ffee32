"""Write saturation in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence
from typing import Final

from openpts.pages import ticks
from openpts.pages.cells import fixed
from openpts.pages.model import Block, Figure, Section, Series, Verdict
from openpts.procedures.pts.wsat.pages import MEAN_LATENCY
from openpts.procedures.shared.short_report import Picked

# TKP-WSAT-01
INTRODUCTION: Final = (
    "The test: a purge, then the same stimulus without a pause until four times the capacity is "
    "written or the time is up. Steady state does not end it."
)


# TKP-WSAT-02, 03
def blocks(sections: Sequence[Section]) -> list[Block]:
    """In the order of TKperf's report."""
    blocks: list[Block] = []
    for section in sections:
        picked = Picked(section)
        blocks += picked.sentences("iops-time")[:1]
        blocks += picked.plot(
            "iops-time",
            "IOPS of each minute, which is a round here, with its slowest and fastest interval.",
        )
        blocks += _mean_latency(picked)
    return blocks


def _mean_latency(picked: Picked) -> list[Block]:
    """Mean latency over the same minutes, from the table that the plot of IOPS is drawn from."""
    page = picked.page("iops-time")
    like = next((block for block in page.blocks if isinstance(block, Figure)), None) if page else None
    table = picked.any_table(like.table_id) if like else None
    if like is None or table is None:
        return []
    values = [value for row in table.rows if (value := row.cells[MEAN_LATENCY].value) is not None]
    if not values:
        return [Verdict("Mean latency: n/a (no I/O).")]
    title = like.title.replace("IOPS v", "Mean Latency v")
    figure = Figure(
        id=f"short-{picked.section.test}-latency",
        number=f"Plot X-{picked.section.test.upper()}-LATENCY",
        title=title,
        kind="lines",
        table_id=table.id,
        x=like.x,
        y=ticks.linear_axis("Mean latency (ms)", 0, max(values)),
        alt=f"{title}: from {fixed(min(values), 3)} to {fixed(max(values), 3)} ms.",
        series=(Series("Mean latency of a minute", "column", (MEAN_LATENCY,), 2, style="mean"),),
        zoom_group=like.zoom_group,
    )
    return [figure, Verdict("Mean latency of the same minutes.")]
