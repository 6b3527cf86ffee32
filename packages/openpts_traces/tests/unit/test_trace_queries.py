"""The queries of traces.md, on traces whose content is known."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from openpts_traces.treatment import Input, OpenOptions, ReadOptions, write
from tests import ROOT
from tests.support.made_traces import record
from tests.support.manual import section

PAGE = section(ROOT / "packages/openpts_traces/docs/traces.md", "Questions to a trace, in SQL")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
(MAP,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
GIB = 2**30


def written(name: str, *records: bytes) -> None:
    Path("source").write_bytes(b"".join(records))
    write(Input(("source",)), "openpts", Path(name), lambda _ios: None)


def asked(number: int) -> list[tuple[Any, ...]]:
    return duckdb.sql(QUERIES[number]).fetchall()


def kept(name: str) -> list[tuple[Any, ...]]:
    """Rows that a query has written, as a trace again: moment, operation, place and device."""
    read = OpenOptions("columns", ReadOptions(column_map=MAP))
    write(Input((name,), read), "openpts", Path("again.parquet"), lambda _ios: None)
    rows = duckdb.sql("SELECT t_ns, latency_ns, operation, offset_bytes, device FROM 'again.parquet'")
    return rows.fetchall()


@pytest.fixture(autouse=True)
def _a_trace(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(
        "trace.parquet",
        record(0, "Read", block=0),
        record(500_000, "Read", block=0),
        record(1_500_000, "Write", block=3 * GIB // 512, length_bytes=8192),
        record(5_000_000_000, "Write", block=8, length_bytes=8192),
    )


def test_there_are_six() -> None:
    assert len(QUERIES) == 6


def test_rates_and_response_times_by_second() -> None:
    assert asked(0) == [(0, 2, 0.008192, 100.0), (1, 1, 0.008192, 100.0), (5000, 1, 0.008192, 100.0)]


def test_operations_and_sizes() -> None:
    assert asked(1) == [("read", 4096, 2, 50.0), ("write", 8192, 2, 50.0)]


def test_writes_by_process() -> None:
    Path("log").write_text(
        "  8,0 0 1 0.000000000 11 Q W 0 + 8 [a]\n  8,0 0 2 0.1 22 Q WS 8 + 32 [b]\n"
        "  8,0 0 3 0.200000000 11 Q R 64 + 8 [a]\n"
    )
    write(Input(("log",)), "openpts", Path("processes.parquet"), lambda _ios: None)
    Path("processes.parquet").replace("trace.parquet")
    assert asked(2) == [(22, 1, 32 * 512), (11, 1, 8 * 512)]


def test_hot_places() -> None:
    assert asked(3) == [(0, 0, 3), (0, 3, 1)]


def test_a_part_keeps_its_times_and_is_a_trace_again() -> None:
    duckdb.sql(QUERIES[4])
    assert Path("part.csv").read_text() == "5000000000000,100000,write,4096,8192,0\n"
    # a trace begins with its first I/O
    assert kept("part.csv") == [(0, 100_000, "write", 4096, 0)]


def test_two_traces_in_one_at_a_start_and_a_speed() -> None:
    written("other.parquet", record(0, "Write", block=16), record(3_000_000, "Read", block=24))
    duckdb.sql(QUERIES[5])
    assert kept("both.csv") == [
        (0, 100_000, "read", 0, 0),
        (500_000_000, 100_000, "read", 0, 0),
        (1_500_000_000, 100_000, "write", 3 * GIB, 0),
        (2_500_000_000, 100_000, "write", 16 * 512, 1),
        (4_500_000_000, 100_000, "read", 24 * 512, 1),
        (5_000_000_000_000, 100_000, "write", 4096, 0),
    ]
