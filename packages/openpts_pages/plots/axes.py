"""Axes of plots: the place of a value on an axis, and the axis for Vega-Lite."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from openpts_pages.model import Axis, Figure
from openpts_pages.plots.font_metrics import text_width_px
from openpts_pages.plots.theme import PLOT_TEXT_PX

Spec = dict[str, Any]

PADDING: Final = {"left": 4, "top": 8, "right": 6, "bottom": 4}
NUMBER: Final = ",~f"
LINE_PX: Final = PLOT_TEXT_PX + 3
END_LABEL_PX: Final = 31  # from the plot's edge to the text of an end label
_PLAIN: Final = "~f"
_TITLE_AND_TICKS_PX: Final = 4 + 5 + 10 + 14
_BELOW_PX: Final = 45
_NEAR_END: Final = 0.95


def place(value: float, axis: Axis) -> float:
    """The place of a value on the axis: on a nines scale the count of nines, at most that of its end."""
    return value if axis.scale != "nines" else _nines(min(value, axis.domain[1]))


def _nines(pct: float) -> float:
    return round(-math.log10(max(1 - pct / 100, 1e-12)), 9) + 0.0


def share(value: float, axis: Axis) -> float:
    """Where a value lies on the axis: 0 at its start, 1 at its end. A logarithmic one has no place for 0."""
    return shares(axis)(value)


def shares(axis: Axis) -> Callable[[float], float]:
    """``share`` for an axis of a hundred thousand points."""
    low, high = (place(end, axis) for end in axis.domain)
    if axis.scale == "log":
        span = math.log(high / low)
        return lambda value: math.log(value / low) / span if value > 0 else -math.inf
    if axis.scale == "nines":
        return lambda value: (place(value, axis) - low) / (high - low)
    return lambda value: (value - low) / (high - low)


def value_at(where: float, axis: Axis) -> float:
    """The place on the axis, as ``place`` gives it, for a share of its length."""
    low, high = (place(end, axis) for end in axis.domain)
    return low * (high / low) ** where if axis.scale == "log" else low + where * (high - low)


def shows(value: float, axis: Axis) -> bool:
    """Whether the axis has a place for the value at all."""
    return axis.scale != "log" or value > 0


def tick_texts(axis: Axis) -> list[str]:
    """The texts at the ticks."""
    if axis.labels:
        return list(axis.labels)
    # through their decimal text: a float's own text may have an exponent
    return [f"{Decimal(f'{tick:.9e}').normalize():{',' if axis.commas else ''}f}" for tick in axis.ticks]


def field(name: str, axis: Axis, *, right: bool = False) -> Spec:
    """A position channel that reads a field, or the category of that name."""
    return {"field": name, **_position(axis, right)}


def datum(value: float, axis: Axis) -> Spec:
    """A position channel at a fixed value of the axis."""
    return {"datum": place(value, axis), **_position(axis, right=False)}


def _position(axis: Axis, right: bool) -> Spec:
    if axis.scale == "category":
        return {
            "type": "ordinal",
            "title": axis.title,
            "scale": {"domain": list(axis.labels)},
            "axis": {"labelAngle": 0, "ticks": False, "domain": False},
        }
    drawn: Spec = {
        "values": [place(tick, axis) for tick in axis.ticks],
        "format": NUMBER if axis.commas else _PLAIN,
        "tickSize": 4,
    }
    if axis.labels:
        drawn["labelExpr"] = f"{json.dumps(axis.labels)}[indexof({drawn['values']}, datum.value)]"
    if right:
        drawn |= {"orient": "right", "grid": False}
    return {
        "type": "quantitative",
        "title": axis.title,
        "scale": {
            "type": "log" if axis.scale == "log" else "linear",
            "domain": [place(end, axis) for end in axis.domain],
            "nice": False,
        },
        "axis": drawn,
    }


def left_px(figure: Figure) -> float:
    """Width of the y axis with its numbers and its title."""
    return max(_axis_px(figure.y), figure.sides_px[0])


def right_px(figure: Figure, longest_label_px: float) -> float:
    """Width of the parts to the right of the plot: a second axis, or the labels of its lines."""
    if figure.y2 is not None:
        return max(_axis_px(figure.y2), figure.sides_px[1])
    labels = END_LABEL_PX + longest_label_px if longest_label_px else 0.0
    return max(labels, _beyond_end_px(figure.x), figure.sides_px[1])


def _beyond_end_px(axis: Axis) -> float:
    """What the last number below the plot takes beyond its end."""
    if not axis.ticks or share(axis.ticks[-1], axis) < _NEAR_END:
        return 0.0
    return text_width_px(tick_texts(axis)[-1]) / 2


def _axis_px(axis: Axis) -> float:
    return max((text_width_px(text) for text in tick_texts(axis)), default=0.0) + _TITLE_AND_TICKS_PX


def inner_size_px(figure: Figure, longest_label_px: float, rows_above: int) -> tuple[float, float]:
    """Width and height left for the data; a little less than Vega will find, so that labels keep apart."""
    sides = left_px(figure) + right_px(figure, longest_label_px) + PADDING["left"] + PADDING["right"]
    above = PADDING["top"] + rows_above * LINE_PX + PADDING["bottom"]
    return max(40, figure.width_px - sides - 6), max(40, figure.height_px - above - _BELOW_PX)
