"""ART over IOPS of several drives, at all operating points."""

from collections.abc import Sequence

from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Block
from openpts.procedures.kit.overlay import Point, Typical, overlay, values_of, with_sentence
from openpts.units import NS_PER_MS


def blocks(typical: Sequence[Typical]) -> tuple[Block, ...]:
    """Where both drives were measured."""
    test = typical[0].run.manifest.conditions.test
    drawn = overlay(
        PlotName(
            f"compare-{test}-demand",
            f"Plot X-COMPARE-{test.upper()}-2",
            "Demand Intensity: ART v IOPS of all TC/QD",
        ),
        "ART (ms) of each operating point at its IOPS",
        [(one, _points(one)) for one in typical],
        lambda table: (
            ticks.amount_axis("IOPS", [row.head.value for row in table.rows if row.head.value]),
            ticks.log_axis("ART (ms)", values_of(table)),
        ),
        x_title="IOPS",
        decimals=1,
        style="points",
    )
    return with_sentence(typical, drawn)


def _points(one: Typical) -> list[Point]:
    return [
        (point["iops"], cells.latency(point["art_ms"] * NS_PER_MS))
        for point in one.content.figures["operating_points"]
        if point["iops"] and point["art_ms"]
    ]
