"""The conditions of a test, field by field, as rows of the set-up page: what PTS wants set and recorded."""

from collections.abc import Iterator
from typing import Final

from openpts.vocabulary.condition_text import condition_text
from openpts.vocabulary.test_conditions import TestConditions

# What the set-up page shows elsewhere, or what is no condition of the stimulus.
_ELSEWHERE: Final = {"profile", "write_cache_enabled"}
_ABBREVIATIONS: Final = {
    "tc": "TC",
    "qd": "QD",
    "tcs": "TCs",
    "qds": "QDs",
    "ns": "",
    "bytes": "",
    "pct": "%",
    "pcts": "%",
}


def condition_rows(conditions: TestConditions) -> Iterator[tuple[str, str]]:
    """Name and value of each field, in the order of the conditions."""
    for name in conditions.__struct_fields__:
        value = getattr(conditions, name)
        if name not in _ELSEWHERE and value is not None:
            yield _label(name), condition_text(name, value)


def _label(name: str) -> str:
    words = [_ABBREVIATIONS.get(word, word) for word in name.split("_")]
    text = " ".join(word for word in words if word)
    return text[:1].upper() + text[1:]
