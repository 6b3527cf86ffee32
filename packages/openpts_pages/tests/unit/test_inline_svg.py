"""Drawings in the page: smaller than those for paper, and with all that can be seen of them."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

import msgspec
import pytest

from openpts_pages.plots.svg import draw_figures, inline_svg
from tests.support.sample_figures import all_figures, gallery

FIGURES = {figure.id: figure for figure, _ in all_figures()}
DOTS = re.compile(r"M([-\d.]+),([-\d.]+)h")


@pytest.fixture(scope="module")
def drawings() -> dict[str, str]:
    return draw_figures(gallery())


def elements(svg: str) -> Counter[str]:
    """How many of each kind of element there are, without what Vega draws of nothing."""
    root = ET.fromstring(svg)
    seen = (
        element
        for element in root.iter()
        if element.get("display") != "none" and element.get("d") not in ("", "M0,0h0v0h0Z")
    )
    return Counter(element.tag.rpartition("}")[2] for element in seen)


@pytest.mark.parametrize("name", FIGURES)
def test_all_that_can_be_seen_stays(name, drawings) -> None:
    inline = str(inline_svg(drawings[name], FIGURES[name]))
    assert elements(inline) == elements(drawings[name]) + Counter(title=1)
    assert [e.text for e in ET.fromstring(inline).iter("text")] == [
        e.text for e in ET.fromstring(drawings[name]).iter() if e.tag.endswith("}text")
    ]


def test_dots_stay_where_they_are(drawings) -> None:
    """To a tenth of a pixel: as square ends of lines without length, in the middle of what were squares."""
    inline = str(inline_svg(drawings["hir"], FIGURES["hir"]))
    squares = [path for path in re.findall(r' d="([^"]*)"', drawings["hir"]) if len(path) > 1000]
    caps = re.findall(r'<path d="([^"]*)" transform="translate\(([\d.]+),\2\)" stroke="var\(--[a-z0-9-]+\)" '
                      r'stroke-width="([\d.]+)" stroke-linecap="square"/>', inline)  # fmt: skip
    assert len(squares) == len(caps) == 2
    for square, (cap, middle, side) in zip(squares, caps, strict=True):
        assert f"h{side}v{side}h-{side}Z" in square
        assert float(middle) == pytest.approx(float(side) / 2, abs=0.006)
        before, after = DOTS.findall(square), DOTS.findall(cap)
        assert len(before) == len(after) > 1000
        for place, new in zip(before, after, strict=True):
            assert [float(n) for n in new] == pytest.approx([float(n) for n in place], abs=0.1)


def test_drawings_are_much_smaller_in_the_page(drawings) -> None:
    whole = sum(len(svg) for svg in drawings.values())
    assert sum(len(inline_svg(svg, FIGURES[name])) for name, svg in drawings.items()) < 0.7 * whole


def test_what_a_figure_is_called_stays_text() -> None:
    figure = msgspec.structs.replace(FIGURES["bars"], alt='</title><script>alert(1)</script>"')
    inline = str(inline_svg("<svg><path/></svg>", figure))
    assert "<script" not in inline
    assert ET.fromstring(inline).findtext("title") == figure.alt
