"""Turns a figure of the model into a Vega-Lite specification: the one grammar of all plots.

A specification names styles and ranges, never colors (the theme's configuration has them), and
carries only values of the figure's tables. The interactive form has tooltips and a ``hidden`` signal with
the keys of the series that are switched off; on numeric axes it names the series' data (``s0``, ``s1``, ...),
which the page has in its tables.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from openpts_pages.model import Figure, Table
from openpts_pages.plots.annotations import (
    bands,
    end_label_layers,
    legend_layers,
    marks,
    row_count,
    rules,
    rules_and_labels_above,
)
from openpts_pages.plots.axes import (
    LINE_PX,
    PADDING,
    Spec,
    end_labels,
    inner_size_px,
    left_px,
    longest_label_px,
)
from openpts_pages.plots.category_plots import bar_layers, heat_map, strip_layers
from openpts_pages.plots.series import series_layers
from openpts_pages.plots.theme import LIGHT, vega_config

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_ONE_ROW: Final[Spec] = {"values": [{}]}  # for layers that draw fixed values once
_SHARED_FROM_ROWS: Final = 20


def vega_lite_spec(figure: Figure, tables: Mapping[str, Table], *, interactive: bool = False) -> Spec:
    """The specification of a figure of any kind but columns3d. Raises KeyError without its table."""
    table = tables[figure.table_id]
    match figure.kind:
        case "lines":
            drawn = _lines(figure, table, interactive)
        case "heat":
            details = tables[figure.detail_table_id]
            lines = tables.get(figure.contour_table_id)
            drawn = heat_map(figure, table, details, lines, interactive=interactive)
        case kind:
            draw = {"strip": strip_layers, "bars": bar_layers}[kind]
            drawn = _on_categories(figure, table, draw(figure, table, interactive))
    fixed = figure.kind == "lines" and not interactive
    return {
        "$schema": _SCHEMA,
        "description": figure.alt,
        **(_fixed_frame(figure, table) if fixed else _fitting_frame(figure)),
        **({"params": [{"name": "hidden", "value": []}]} if interactive else {}),
        "data": _ONE_ROW,
        **_sharing_data(drawn),
    }


def _fitting_frame(figure: Figure) -> Spec:
    """Vega finds the room for the axes' texts: on a page the reader's own fonts decide."""
    fit = {"type": "fit", "contains": "padding"}
    return {"width": figure.width_px, "height": figure.height_px, "autosize": fit, "padding": PADDING}


def _fixed_frame(figure: Figure, table: Table) -> Spec:
    """On paper the fonts are ours: the room is known, and Vega need not measure and lay out texts twice."""
    longest = longest_label_px(figure, table)
    rows_above = sum(row_count(figure, longest))
    width, height = inner_size_px(figure, longest, rows_above)
    left, top = left_px(figure) + PADDING["left"], PADDING["top"] + rows_above * LINE_PX
    sides = {"right": figure.width_px - width - left, "bottom": figure.height_px - height - top}
    return {
        "width": width,
        "height": height,
        "autosize": {"type": "none"},
        "padding": {"left": left, "top": top, **sides},
    }


def _on_categories(figure: Figure, table: Table, layers: list[Spec]) -> Spec:
    labels = end_label_layers(figure, end_labels(figure, table), interactive=False)
    return {"layer": [*bands(figure), *rules(figure), *layers, *labels, *legend_layers(figure, 0)]}


def _lines(figure: Figure, table: Table, interactive: bool) -> Spec:
    longest = longest_label_px(figure, table)
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
    if figure.y2 is None:
        return {"layer": left}
    right = series_layers(figure, table, interactive, right=True)
    sides = [{"layer": left}, {"layer": right}]
    return {"layer": sides, "resolve": {"scale": {"y": "independent"}}}


def _sharing_data(drawn: Spec) -> Spec:
    """Long rows that several layers draw are included once, under a name."""
    datasets: dict[str, Any] = {}
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


_OF_PALETTE: Final = ("scale", "legend")


def standalone(spec: Spec) -> Spec:
    """The specification of a figure that is drawn on paper, by itself; the drawing is the same.

    Vega draws a constant with a scale of its own, and an ``order`` of no value; the schema knows neither.
    """
    layers = [_layer(layer) for layer in spec["layer"]]
    whole = {**spec, "layer": layers, "config": vega_config(LIGHT)}
    plain: Spec = msgspec.json.decode(msgspec.json.encode(whole))  # no tuples, which the schema refuses
    return plain


def _layer(layer: Spec) -> Spec:
    if "layer" in layer:
        return {**layer, "layer": [_layer(inner) for inner in layer["layer"]]}
    encoding, mark = dict(layer.get("encoding", {})), layer["mark"]
    if encoding.get("order") == {"value": None}:
        del encoding["order"]
        mark = {**mark, "order": False}
    fields = {}
    for channel, one in encoding.items():
        if "datum" in one and any(name in one for name in _OF_PALETTE):
            fields[f"constant_{channel}"] = one["datum"]
            encoding[channel] = _of_field(one, f"constant_{channel}")
    constants = [{"calculate": repr(value), "as": name} for name, value in fields.items()]
    transform = {"transform": [*layer.get("transform", ()), *constants]} if constants else {}
    return {**layer, **transform, "mark": mark, "encoding": encoding}


def _of_field(channel: dict[str, Any], name: str) -> Spec:
    return {"field": name, **{key: value for key, value in channel.items() if key != "datum"}}
