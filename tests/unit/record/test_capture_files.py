"""Capture files mean to other programs what the engine meant; pyarrow is the oracle."""

from pathlib import Path
from typing import Any

import pytest

parquet = pytest.importorskip("pyarrow.parquet")

SAMPLE = Path(__file__).parents[2] / "data" / "captures" / "format-1.parquet"
OPERATIONS = ("read", "write", "trim", "flush", "fsync")


def io(number: int) -> dict[str, Any]:
    operation = OPERATIONS[number % 5]
    addressed = operation not in {"flush", "fsync"}
    return {
        "step": number // 500,
        "thread": number % 2,
        "submitted_ns": number * 1000,
        "latency_ns": 80_000 + number**2,
        "lba": number * 7919 if addressed else 0,
        "length_bytes": 4096 if addressed else 0,
        "operation": operation,
        "errno": 5 if number % 100 == 99 else 0,
    }


def test_every_row_comes_back() -> None:
    rows = parquet.read_table(SAMPLE).sort_by("submitted_ns").to_pylist()
    assert rows == [io(number) for number in range(1000)]


def test_columns_have_the_types_of_their_meaning() -> None:
    types = {field.name: str(field.type) for field in parquet.read_schema(SAMPLE)}
    assert types == {
        "step": "uint32",
        "thread": "uint16",
        "submitted_ns": "uint64",
        "latency_ns": "uint64",
        "lba": "uint64",
        "length_bytes": "uint32",
        "operation": "string",
        "errno": "int32",
    }


def test_the_file_explains_itself() -> None:
    words = parquet.read_schema(SAMPLE).metadata
    assert words[b"openpts.capture"] == b"1"
    assert words[b"openpts.sector_bytes"] == words[b"openpts.lba_bytes"] == b"512"
    assert words[b"openpts.clock"] == b"monotonic, ns since the engine began"
    assert words[b"openpts.ios"] == b"1000"
    assert words[b"openpts.ios_discarded"] == words[b"openpts.blocked_ns"] == b"0"
