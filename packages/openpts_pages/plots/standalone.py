"""A plot for a notebook: with its values and colors, and valid by Vega-Lite's schema, which Altair checks."""

from typing import Any, Final

import msgspec

from openpts_pages.plots.axes import Spec
from openpts_pages.plots.theme import LIGHT, vega_config

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
