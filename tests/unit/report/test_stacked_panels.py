"""Panels that share their x lie exactly above each other on paper."""

from collections import defaultdict

import pytest

from openpts.pages.model import Figure
from openpts.plots.vega_lite import vega_lite_spec
from openpts.report.build import build_report
from tests.support.made_up_run import made_up_run

DATE = "2026-11-21T08:00:00Z"


@pytest.mark.parametrize("test", ["xsr", "wsat"])
def test_panels_of_a_page_have_the_same_frame(test: str) -> None:
    report = build_report(made_up_run(test), DATE)
    tables = report.tables()
    stacks = 0
    for page in report.pages():
        frames: dict[str, set[tuple[float, float]]] = defaultdict(set)
        panels: dict[str, int] = defaultdict(int)
        for block in page.blocks:
            if isinstance(block, Figure) and block.kind == "lines" and block.zoom_group:
                spec = vega_lite_spec(block, tables)
                frames[block.zoom_group].add((spec["padding"]["left"], spec["width"]))
                panels[block.zoom_group] += 1
        assert all(len(found) == 1 for found in frames.values()), page.id
        stacks += sum(count > 1 for count in panels.values())
    assert stacks
