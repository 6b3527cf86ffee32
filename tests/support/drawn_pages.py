"""Values for log pages, drawn from all that their tables allow."""

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from openpts_nvme.logs.page import EntryList, Log, LogField

MOST_ENTRIES = 5
"""Of a list."""

# sizes follow from the entries
_SIZES = frozenset({"descriptor_bytes", "histogram_descriptor_bytes", "log_bytes"})


def drawn_page(log: Log, draw: random.Random, version: int | None = None) -> dict[str, Any]:
    """Values of a page of this version, the newest if none is named."""
    fields = log.fields_of(log.versions[1] if version is None else version)
    values = _drawn(fields, log.lists, draw)
    for name, raw in zip(log.ascending, sorted(draw.sample(range(256), 4)), strict=False):
        values[name] = 5 * raw + 5
    return values


def _drawn(fields: Sequence[LogField], lists: Sequence[EntryList], draw: random.Random) -> dict[str, Any]:
    """Values that fields can have, and some entries of each list."""
    counts = {one.count_in for one in lists} | _SIZES
    values: dict[str, Any] = {
        one.name: _drawn_value(one, draw)
        if one.count is None
        else [_drawn_value(one, draw) for _ in range(one.count)]
        for one in fields
        if one.scale_in is None and one.name not in counts
    }
    for one in fields:
        if one.scale_in is not None:
            per = one.per_by.get(values[one.scale_in])
            values[one.name] = None if per is None else draw.randrange(1 << 16) / per
    for entries in lists:
        values[entries.name] = [
            _drawn(entries.fields, entries.lists, draw)
            for _ in range(draw.randint(1, min(entries.most, MOST_ENTRIES)))
        ]
    return values


def _drawn_value(field: LogField, draw: random.Random) -> Any:
    if field.none is not None and draw.random() < 0.1:
        return None
    _, _, width = field.place(0)
    match field.kind:
        case "text":
            return "".join(chr(draw.randint(0x21, 0x7E)) for _ in range(draw.randint(0, field.width)))
        case "hex":
            return draw.randbytes(field.width).hex().upper()
        case "uuid":
            return str(UUID(int=draw.getrandbits(128)))
        case "stamp":
            return {
                "ms": draw.getrandbits(48),
                "may_have_stopped": draw.random() < 0.5,
                "origin": draw.randrange(8),
            }
        case "number":
            if field.is_flag:
                return draw.random() < 0.5
            top = len(field.codes) if field.codes else 1 << width
            while True:
                raw = draw.randrange(top) if field.most is None else draw.randrange(min(top, 1 << 9))
                value = raw * field.times + field.plus
                low = field.least is None or value >= field.least
                if raw != field.none and low and (field.most is None or value <= field.most):
                    return value


def has_values(decoded: Any, drawn: Any) -> bool:
    """Whether a page has the values that were put in, beside those that follow from them."""
    if isinstance(drawn, dict):
        return all(has_values(decoded[name], value) for name, value in drawn.items())
    if isinstance(drawn, list) and drawn and isinstance(drawn[0], dict):
        return len(decoded) == len(drawn) and all(map(has_values, decoded, drawn))
    return bool(decoded == drawn)
