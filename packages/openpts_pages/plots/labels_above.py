"""Labels above a plot, in rows: names of ranges and vertical lines, none over another, none struck out.

And the legend above those, where lines can't be named at their ends.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts_pages.model import Band, Figure, PlotRule
from openpts_pages.plots.axes import inner_size_px, place, share
from openpts_pages.plots.font_metrics import text_width_px
from openpts_pages.plots.line_labels import has_end_labels

_GAP_PX: Final = 7
_BESIDE_LINE_PX: Final = 3
_SYMBOL_PX: Final = 24
_BETWEEN_ENTRIES_PX: Final = 16


class LabelAbove(Struct, frozen=True):
    """A label in row 0 (next to the plot) or above; ``align`` is left or right of a line, or center."""

    text: str
    x: float
    align: str
    row: int


class LegendEntry(Struct, frozen=True):
    """An entry of the legend: ``x_px`` from the plot's left, in row 0 (the lowest) or above."""

    text: str
    x_px: float
    row: int
    style: str
    color: int = 0
    key: str = ""


class _Text(Struct, frozen=True):
    """A label and the pixels that it covers; ``line`` is the place of its own vertical line, if any."""

    label: str
    x: float
    align: str
    start: float
    end: float
    line: float | None


def labels_above(figure: Figure, width_px: float) -> list[LabelAbove]:
    """Labels of the ranges and vertical lines of x; ``width_px`` is that of the plot's inside."""
    texts = [
        *(_of_band(band, figure, width_px) for band in figure.bands if band.axis == "x" and band.label),
        *_of_rules(vertical_rules(figure), figure, width_px),
    ]
    rows = _rows(texts)
    return [LabelAbove(t.label, t.x, t.align, row) for t, row in zip(texts, rows, strict=True)]


def vertical_rules(figure: Figure) -> list[PlotRule]:
    """The constant lines at places of x that the axis has."""
    return [rule for rule in figure.rules if rule.axis == "x" and 0 <= share(rule.value, figure.x) <= 1]


def _of_band(band: Band, figure: Figure, width_px: float) -> _Text:
    low, high = (min(max(share(end, figure.x), 0), 1) for end in (band.start, band.end))
    half = text_width_px(band.label) / 2
    middle = (low + high) / 2 * width_px
    x = (place(band.start, figure.x) + place(band.end, figure.x)) / 2
    return _Text(band.label, x, "center", middle - half, middle + half, None)


def _of_rules(rules: Sequence[PlotRule], figure: Figure, width_px: float) -> list[_Text]:
    """Labels to the right of their lines; at the right edge, to the left of them."""
    texts: list[_Text] = []
    limit = width_px
    for rule in sorted(rules, key=lambda rule: -rule.value):
        line = share(rule.value, figure.x) * width_px
        width = text_width_px(rule.label) + _BESIDE_LINE_PX
        x = place(rule.value, figure.x)
        if line + width <= limit:
            texts.append(_Text(rule.label, x, "left", line, line + width, line))
        else:
            texts.append(_Text(rule.label, x, "right", line - width, line, line))
            limit = line  # a text that reached over this line would face one that reaches back
    return texts


def _rows(texts: Sequence[_Text]) -> list[int]:
    """The lowest rows in which no text lies over another, and no line goes through one."""
    rows = [0] * len(texts)
    for _ in range(len(texts) ** 2):
        moved = False
        for i, text in enumerate(texts):
            for j, other in enumerate(texts):
                if i != j and _must_rise(text, other, rows[i], rows[j], first=i < j):
                    rows[i] = rows[j] + 1
                    moved = True
        if not moved:
            break
    return rows


def _must_rise(text: _Text, other: _Text, row: int, other_row: int, *, first: bool) -> bool:
    if _goes_through(other.line, text):
        return row <= other_row
    if _goes_through(text.line, other):
        return False
    overlap = text.start < other.end + _GAP_PX and other.start < text.end + _GAP_PX
    return first and overlap and row == other_row


def _goes_through(line: float | None, text: _Text) -> bool:
    return line is not None and text.start < line < text.end


def legend(figure: Figure) -> list[LegendEntry]:
    """Names of series and constant lines where they have no labels at their ends; one alone needs none."""
    if has_end_labels(figure):
        return []
    entries = [
        (series.label, series.style, series.color, f"s{n}")
        for n, series in enumerate(figure.series)
        if series.label
    ]
    if figure.y2 is not None:
        entries += [(rule.label, rule.style, 0, "") for rule in figure.rules if rule.axis == "y"]
    if len(entries) < 2:
        return []
    lines: list[list[tuple[float, tuple[str, str, int, str]]]] = [[]]
    x = 0.0
    for entry in entries:
        width = _SYMBOL_PX + text_width_px(entry[0]) + _BETWEEN_ENTRIES_PX
        if lines[-1] and x + width > figure.width_px * 0.86:
            lines.append([])
            x = 0.0
        lines[-1].append((x, entry))
        x += width
    return [
        LegendEntry(text, where, len(lines) - 1 - number, style, color, key)
        for number, line in enumerate(lines)
        for where, (text, style, color, key) in line
    ]


def row_count(figure: Figure, longest_label_px: float) -> tuple[int, int]:
    """How many rows of labels, and of the legend above them, the figure needs."""
    width, _ = inner_size_px(figure, longest_label_px, 0)
    labels = max((label.row + 1 for label in labels_above(figure, width)), default=0)
    return labels, max((entry.row + 1 for entry in legend(figure)), default=0)
