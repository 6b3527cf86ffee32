"""3D columns as an SVG of their own: fixed oblique projection, painted back to front.

The grammar of the other plots has no such form. Front faces carry the series' color; a light and a
dark veil over the other two faces give them depth in any color scheme.
"""

from collections.abc import Iterator
from html import escape
from typing import Final

from msgspec import Struct

from openpts_pages.model import Figure, Table
from openpts_pages.plots.axes import tick_texts
from openpts_pages.plots.theme import FONT, PLOT_TEXT_PX, PLOT_WIDTH_PX, ColorScheme, text_width_px

# The floor: eight categories side by side, or fewer and wider ones, and seven series one behind the other.
_WIDEST_FLOOR_PX: Final = 392.0
_WIDEST_CATEGORY_PX: Final = 56.0
_DEPTH_X_PX: Final = 175.0
_DEPTH_Y_PX: Final = 147.0
_DEEPEST_SERIES: Final = 7
_BESIDE_PX: Final = 10.0
_MARGIN_PX: Final = 4.0
_COLUMN_SHARE: Final = 0.62
_LEFT_PX: Final = 78.0
_BOTTOM_PX: Final = 52.0
_TOP_PX: Final = 12.0


class _Space(Struct, frozen=True):
    """The projection: category and series to the right and back, value upwards."""

    categories: int
    depths: int
    height_px: float
    top_value: float
    names_px: float

    @property
    def category_px(self) -> float:
        room = PLOT_WIDTH_PX - _LEFT_PX - _DEPTH_X_PX - _BESIDE_PX - self.names_px - _MARGIN_PX
        return min(_WIDEST_CATEGORY_PX, min(_WIDEST_FLOOR_PX, room) / max(1, self.categories))

    def place(self, category: float, depth: float, value: float) -> tuple[float, float]:
        floor = self.height_px - _BOTTOM_PX
        deepest = max(_DEEPEST_SERIES, self.depths)
        rise = floor - _TOP_PX - self.depths * _DEPTH_Y_PX / deepest
        return (
            _LEFT_PX + category * self.category_px + depth * _DEPTH_X_PX / deepest,
            floor - depth * _DEPTH_Y_PX / deepest - rise * value / self.top_value,
        )


def columns_svg(figure: Figure, table: Table, scheme: ColorScheme) -> str:
    """The figure as SVG: rows of the table along x, its columns in depth, the first one in front."""
    names = (figure.depth_title, *(column.label for column in table.columns))
    space = _Space(
        categories=len(table.rows),
        depths=len(table.columns),
        height_px=figure.height_px,
        top_value=figure.y.domain[1],
        names_px=max(text_width_px(name) for name in names),
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{PLOT_WIDTH_PX}" height="{figure.height_px}" '
        f'viewBox="0 0 {PLOT_WIDTH_PX} {figure.height_px}" font-family="{FONT}" font-size="{PLOT_TEXT_PX}">',
        f'<rect width="{PLOT_WIDTH_PX}" height="{figure.height_px}" fill="{scheme.surface}"/>',
        *_walls(figure, space, scheme),
        *_names(figure, table, space, scheme),
        *_columns(figure, table, space, scheme),
        "</svg>",
    ]
    return "".join(parts)


def _walls(figure: Figure, space: _Space, scheme: ColorScheme) -> Iterator[str]:
    """Value lines along the left and the back wall, with their numbers."""
    for tick, text in zip(figure.y.ticks, tick_texts(figure.y), strict=True):
        left = space.place(0, 0, tick)
        corner = space.place(0, space.depths, tick)
        right = space.place(space.categories, space.depths, tick)
        path = f"M{_xy(left)}L{_xy(corner)}L{_xy(right)}"
        yield f'<path d="{path}" fill="none" stroke="{scheme.grid}"/>'
        yield _text(left[0] - 8, left[1] + 4, text, scheme.ink, "end")
    floor = [
        space.place(0, 0, 0),
        space.place(space.categories, 0, 0),
        space.place(space.categories, space.depths, 0),
    ]
    yield f'<path d="M{"L".join(_xy(point) for point in floor)}" fill="none" stroke="{scheme.line}"/>'


def _names(figure: Figure, table: Table, space: _Space, scheme: ColorScheme) -> Iterator[str]:
    floor = figure.height_px - _BOTTOM_PX
    for n, row in enumerate(table.rows):
        yield _text(
            _LEFT_PX + (n + 0.45) * space.category_px, floor + 17, row.head.text, scheme.ink, "middle"
        )
    middle = _LEFT_PX + space.categories * space.category_px / 2
    yield _text(middle, floor + 38, figure.x.title, scheme.ink, "middle")
    for n, column in enumerate(table.columns):
        x, y = space.place(space.categories, n + 0.5, 0)
        yield _text(x + _BESIDE_PX, y + 4, column.label, scheme.ink, "start")
    x, y = space.place(space.categories, space.depths, 0)
    yield _text(x + _BESIDE_PX, y - 12, figure.depth_title, scheme.ink, "start")
    left = space.place(0, 0, figure.y.domain[1] / 2)
    yield (
        f'<text transform="translate(16,{left[1]:.1f}) rotate(-90)" text-anchor="middle" '
        f'fill="{scheme.ink}">{escape(figure.y.title)}</text>'
    )


def _columns(figure: Figure, table: Table, space: _Space, scheme: ColorScheme) -> Iterator[str]:
    """From the back row to the front and from left to right, so that nearer columns cover."""
    colors = scheme.mix if figure.palette == "mix" else scheme.series
    for series in reversed(figure.series):
        (line,) = series.lines
        for category, row in enumerate(table.rows):
            value = row.cells[line].value
            if value is not None:
                name = (
                    f"{figure.x.title} {row.head.text}, {series.label}: "
                    f"{row.cells[line].text} {figure.y.title}"
                )
                yield f"<g><title>{escape(name)}</title>"
                yield from _column(space, (category, line), value, colors[series.color], scheme)
                yield "</g>"


def _column(
    space: _Space, place: tuple[int, int], value: float, color: str, scheme: ColorScheme
) -> Iterator[str]:
    category, depth = place
    margin = (1 - _COLUMN_SHARE) / 2
    left, right = category + margin, category + 1 - margin
    near, far = depth + margin, depth + 1 - margin
    front = [(left, near, 0), (right, near, 0), (right, near, value), (left, near, value)]
    side = [(right, near, 0), (right, far, 0), (right, far, value), (right, near, value)]
    top = [(left, near, value), (right, near, value), (right, far, value), (left, far, value)]
    for face, veil, opacity in (
        (side, scheme.face_dark, 0.32),
        (top, scheme.face_light, 0.34),
        (front, "", 0),
    ):
        path = "M" + "L".join(_xy(space.place(*corner)) for corner in face) + "Z"
        yield f'<path d="{path}" fill="{color}" stroke="{scheme.surface}" stroke-width=".5"/>'
        if veil:
            yield f'<path d="{path}" fill="{veil}" fill-opacity="{opacity}"/>'


def _xy(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _text(x: float, y: float, text: str, color: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
