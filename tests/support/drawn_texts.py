"""The texts of a drawing with their boxes in pixels, from what was drawn."""

import re
from itertools import combinations
from xml.etree import ElementTree as ET

from openpts_pages.plots.theme import text_width_px

_SVG = "{http://www.w3.org/2000/svg}"
_TOUCHING_PX = 0.5

Box = tuple[str, float, float, float, float]


def text_boxes(svg: str) -> list[Box]:
    """Text and its left, top, right and bottom in pixels, from what was drawn."""
    found: list[Box] = []

    def walk(element: ET.Element, x: float, y: float) -> None:
        transform = element.get("transform", "")
        if move := re.match(r"translate\(([-\d.]+),\s*([-\d.]+)\)", transform):
            x, y = x + float(move[1]), y + float(move[2])
        if element.tag == f"{_SVG}text" and element.text and element.get("opacity") != "0":
            turn = re.search(r"rotate\((-?\d+)\)", transform)
            found.append(_box_of(element, x, y, int(turn[1]) % 360 if turn else 0))
        for child in element:
            walk(child, x, y)

    walk(ET.fromstring(svg), 0, 0)
    return found


def _box_of(element: ET.Element, x: float, y: float, degrees: int) -> Box:
    text = element.text or ""
    long = text_width_px(text, bold=element.get("font-weight") == "bold")
    x, y = x + float(element.get("x", 0)), y + float(element.get("y", 0))
    before = {"middle": long / 2, "end": long}.get(element.get("text-anchor", "start"), 0.0)
    if degrees == 0:
        return text, x - before, y - 9, x - before + long, y + 2
    if degrees == 270:
        return text, x - 9, y + before - long, x + 2, y + before
    assert degrees == 90
    return text, x - 2, y - before, x + 9, y - before + long


def overlapping(boxes: list[Box]) -> list[tuple[str, str]]:
    """Pairs of texts that lie over each other."""
    return [
        (text, other_text)
        for (text, *one), (other_text, *other) in combinations(boxes, 2)
        if one[0] < other[2] - _TOUCHING_PX
        and other[0] < one[2] - _TOUCHING_PX
        and one[1] < other[3] - _TOUCHING_PX
        and other[1] < one[3] - _TOUCHING_PX
    ]


def outside(boxes: list[Box], width_px: float, height_px: float) -> list[str]:
    """Texts that leave the drawing."""
    return [
        text
        for text, left, top, right, bottom in boxes
        if left < -1 or top < -1 or right > width_px + 1 or bottom > height_px + 2
    ]


def smallest_text_px(svg: str) -> float:
    """The size of the smallest text."""
    return min(float(size) for size in re.findall(r'font-size="([\d.]+)(?:px)?"', svg))
