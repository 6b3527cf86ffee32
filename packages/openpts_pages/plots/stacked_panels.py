"""Panels of a page that share their x lie exactly above each other, whatever their own texts need of room."""

from collections import defaultdict
from collections.abc import Mapping

from msgspec.structs import replace

from openpts_pages.model import Block, Figure, Page, Section, Table
from openpts_pages.plots.axes import left_px, right_px
from openpts_pages.plots.line_labels import longest_label_px


def with_aligned_panels(section: Section) -> Section:
    """The section with the same room beside all plots of a page that are zoomed together."""
    tables = {block.id: block for page in section.pages for block in page.blocks if isinstance(block, Table)}
    return replace(section, pages=tuple(_aligned(page, tables) for page in section.pages))


def aligned_page(page: Page) -> Page:
    """As ``with_aligned_panels``, for a page that holds the tables of its plots."""
    return _aligned(page, {block.id: block for block in page.blocks if isinstance(block, Table)})


def _aligned(page: Page, tables: Mapping[str, Table]) -> Page:
    groups: dict[tuple[str, int], list[Figure]] = defaultdict(list)
    for block in page.blocks:
        if isinstance(block, Figure) and block.kind == "lines" and block.zoom_group:
            groups[block.zoom_group, block.width_px].append(block)
    sides = {
        figure.id: _widest(figures, tables)
        for figures in groups.values()
        if len(figures) > 1
        for figure in figures
    }
    return replace(page, blocks=tuple(_framed(block, sides) for block in page.blocks)) if sides else page


def _widest(figures: list[Figure], tables: Mapping[str, Table]) -> tuple[float, float]:
    return (
        max(left_px(figure) for figure in figures),
        max(right_px(figure, longest_label_px(figure, tables[figure.table_id])) for figure in figures),
    )


def _framed(block: Block, sides: Mapping[str, tuple[float, float]]) -> Block:
    if isinstance(block, Figure) and block.id in sides:
        return replace(block, sides_px=sides[block.id])
    return block
