"""Turns a figure of the model into a Vega-Lite specification: the one grammar of all plots.

A specification names styles and ranges, never colours (the theme's configuration has them), and
carries only values of the figure's tables. The interactive form adds tooltips, zoom and a ``hidden``
signal with the keys of the series that are switched off; ``usermeta`` says which data the reader's
cursor steps over.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from openpts.report.category_plots import bar_layers, heat_layers, strip_layers
from openpts.report.labels_above import row_count
from openpts.report.line_labels import end_labels
from openpts.report.model import Figure, Series, Table
from openpts.report.plot_axes import NUMBER, PADDING, Spec, field, inner_size_px, place
from openpts.report.plot_notes import (
    bands,
    end_label_layers,
    legend_layers,
    marks,
    rules,
    rules_and_labels_above,
)
from openpts.report.plot_series import SHOWN, cursor_points, series_layers
from openpts.report.text_width import text_width_px
from openpts.report.theme import PLOT_WIDTH_PX

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_ONE_ROW: Final[Spec] = {"values": [{}]}  # for layers that draw fixed values once
_SHARED_FROM_ROWS: Final = 20
_CURSOR: Final = "cursor_points"
_ONE_DECIMAL_FROM: Final = 10


def vega_lite_spec(figure: Figure, tables: Mapping[str, Table], *, interactive: bool = False) -> Spec:
    """The specification of a figure of any kind but columns3d. Raises KeyError without its table."""
    table = tables[figure.table_id]
    match figure.kind:
        case "lines":
            drawn = _lines(figure, table, interactive)
        case "heat":
            details = tables[figure.detail_table_id]
            drawn = {"layer": heat_layers(figure, table, details, interactive)}
        case kind:
            draw = {"strip": strip_layers, "bars": bar_layers}[kind]
            drawn = _on_categories(figure, table, draw(figure, table, interactive))
    return {
        "$schema": _SCHEMA,
        "description": figure.alt,
        "width": PLOT_WIDTH_PX,
        "height": figure.height_px,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": PADDING,
        **({"params": [{"name": "hidden", "value": []}]} if interactive else {}),
        "data": _ONE_ROW,
        **_sharing_data(drawn),
    }


def _on_categories(figure: Figure, table: Table, layers: list[Spec]) -> Spec:
    labels = end_label_layers(figure, end_labels(figure, table), interactive=False)
    return {"layer": [*bands(figure), *rules(figure), *layers, *labels, *legend_layers(figure, 0)]}


def _lines(figure: Figure, table: Table, interactive: bool) -> Spec:
    longest = _longest_label_px(figure, table)
    label_rows, legend_rows = row_count(figure, longest)
    size = inner_size_px(figure, longest, label_rows + legend_rows)
    left = [
        *bands(figure),
        *rules(figure),
        *series_layers(figure, table, interactive, right=False),
        *rules_and_labels_above(figure, size[0]),
        *marks(figure, table, size),
        *end_label_layers(figure, end_labels(figure, table, label_rows + legend_rows), interactive),
        *legend_layers(figure, label_rows),
    ]
    cursor: Spec = {}
    if interactive:
        _add_zoom(left)
        cursor = _cursor(figure, table)
        left.append(_cursor_layer(figure, cursor["usermeta"]["tooltip"]))
    if figure.y2 is None:
        return {**cursor, "layer": left}
    right = series_layers(figure, table, interactive, right=True)
    sides = [{"layer": left}, {"layer": right}]
    return {**cursor, "layer": sides, "resolve": {"scale": {"y": "independent"}}}


def _longest_label_px(figure: Figure, table: Table) -> float:
    labels = end_labels(figure, table)
    return max((text_width_px(label.text, bold=label.bold) for label in labels), default=0.0)


def _add_zoom(layers: list[Spec]) -> None:
    """In x, by the wheel with the shift key or by dragging, on the topmost series."""
    zoom = {"type": "interval", "encodings": ["x"], "zoom": "wheel![event.shiftKey]"}
    series = [layer for layer in layers if layer.get("transform") and layer["mark"].get("clip")]
    if series:
        series[-1]["params"] = [{"name": "zoom", "select": zoom, "bind": "scales"}]


def _cursor(figure: Figure, table: Table) -> Spec:
    """The points at which the reader's cursor stops, with the figures that it reads out there."""
    nines = figure.x.scale == "nines"
    rows = [
        {"x": place(x, figure.x), "y": y, "key": f"s{n}", **({"at": x} if nines else {})}
        for n, series in enumerate(figure.series)
        for x, y in cursor_points(series, figure, table)
    ]
    tooltip = [
        {"field": "at" if nines else "x", "type": "quantitative", "title": figure.x.title, "format": NUMBER},
        *(
            {
                "field": f"s{n}",
                "type": "quantitative",
                "title": series.label,
                "format": _format(series, n, rows),
            }
            for n, series in enumerate(figure.series)
        ),
    ]
    return {"datasets": {_CURSOR: rows}, "usermeta": {"tooltip": tooltip, "points": _CURSOR}}


def _format(series: Series, number: int, rows: Sequence[Spec]) -> str:
    """One decimal from 10 on, else three significant digits; nines as they are."""
    if series.second_axis:
        return NUMBER
    largest = max((abs(row["y"]) for row in rows if row["key"] == f"s{number}"), default=0)
    return ",.1f" if largest >= _ONE_DECIMAL_FROM else ",.3~r"


def _cursor_layer(figure: Figure, tooltip: list[Spec]) -> Spec:
    """A vertical line that snaps to the nearest measured x and lists all series there."""
    select = {"type": "point", "fields": ["x"], "nearest": True, "on": "pointerover", "clear": "pointerout"}
    places = ["x", "at"] if figure.x.scale == "nines" else ["x"]
    return {
        "data": {"name": _CURSOR},
        "transform": [{"filter": SHOWN}, {"pivot": "key", "value": "y", "groupby": places}],
        "mark": {"type": "rule", "style": "cursor", "tooltip": True},
        "encoding": {
            "x": field("x", figure.x),
            "opacity": {"condition": {"param": "cursor", "empty": False, "value": 1}, "value": 0},
            "tooltip": tooltip,
        },
        "params": [{"name": "cursor", "select": select}],
    }


def _sharing_data(drawn: Spec) -> Spec:
    """Long rows that several layers draw stand once, under a name."""
    datasets: dict[str, Any] = dict(drawn.get("datasets", {}))
    names: dict[int, str] = {}
    for layer in _leaves(drawn["layer"]):
        rows = layer.get("data", {}).get("values")
        if rows is not None and len(rows) >= _SHARED_FROM_ROWS:
            name = names.setdefault(id(rows), f"points_{len(names)}")
            datasets[name] = rows
            layer["data"] = {"name": name}
    return {**drawn, **({"datasets": datasets} if datasets else {})}


def _leaves(layers: Sequence[Spec]) -> list[Spec]:
    return [leaf for layer in layers for leaf in (_leaves(layer["layer"]) if "layer" in layer else [layer])]
