"""No text of any report's drawing lies over another, leaves the drawing, or is too small on paper."""

import pytest

from openpts.procedures.registry import PROCEDURES
from openpts.report.build import build_report
from openpts_pages.model import Report
from openpts_pages.plots.svg import draw_figures
from openpts_pages.plots.theme import PLOT_WIDTH_PX
from tests.support.drawn_texts import Box, outside, overlapping, smallest_text_px, text_boxes
from tests.support.made_up_run import made_up_run
from tests.support.report_cases import SLOW_BUT_FOR_A_SAMPLE
from tests.support.sample_figures import gallery

PRINTED_WIDTH_PT = 186 / 25.4 * 72
SMALLEST_PT = 6.5


def faults(report: Report) -> list[str]:
    drawings = draw_figures(report)
    assert drawings
    found = []
    for figure in report.figures():
        svg = drawings[figure.id]
        boxes = text_boxes(svg)
        assert boxes, figure.id
        found += [f"{figure.id}: {one!r} over {other!r}" for one, other in overlapping(boxes)]
        found += [
            f"{figure.id}: {text!r} outside" for text in outside(boxes, figure.width_px, figure.height_px)
        ]
        if smallest_text_px(svg) * PRINTED_WIDTH_PT / PLOT_WIDTH_PX < SMALLEST_PT:
            found.append(f"{figure.id}: text too small")
    return found


def test_faults_are_seen() -> None:
    def text(words: str, x: int) -> str:
        return f'<text x="{x}" y="20" font-size="11px">{words}</text>'

    def boxes(*texts: str) -> list[Box]:
        return text_boxes(f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(texts)}</svg>')

    assert overlapping(boxes(text("one", 10), text("other", 25))) == [("one", "other")]
    assert overlapping(boxes(text("one", 10), text("other", 40))) == []
    assert outside(boxes(text("at the edge", 690), text("inside", 10)), 720, 380) == ["at the edge"]


def test_figures_of_all_kinds() -> None:
    assert faults(gallery()) == []


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("case", SLOW_BUT_FOR_A_SAMPLE)
def test_reports_of_all_cases(reports, case) -> None:
    report = reports(case)
    if report.figures():
        assert faults(report) == []


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("name", PROCEDURES)
def test_reports_of_all_tests(name) -> None:
    report = build_report(made_up_run(name), "2026-01-01T00:00:00+00:00")
    if report.figures():
        assert faults(report) == []
