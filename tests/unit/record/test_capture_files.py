"""Capture files mean to other programs what the engine meant; pyarrow is the oracle. A run finds its own."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.record.manifest import Attempt
from tests.support.made_up_run import telling_run
from tests.support.report_cases import SIMULATION

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


def attempt(steps: int) -> Attempt:
    return Attempt("2026-11-22T12:00:00+00:00", 1, "host", None, None, None, steps)


def test_each_attempt_at_a_run_has_a_folder_and_counts_its_steps_from_0() -> None:
    """The second began behind 3 steps and the third behind 8, of which 2 were set aside and repeated."""
    whole = telling_run("dirth")
    steps = tuple(
        replace(step, behind=behind)
        for step, behind in zip(whole.steps, (0, 1, 2, 3, 4, 5, 8, 9, 10), strict=False)
    )
    attempts = (attempt(0), attempt(3), attempt(8))
    run = replace(whole, steps=steps, manifest=replace(whole.manifest, attempts=attempts))
    first, second, third = (("capture", 0), ("capture", 1), ("capture", 2)), (3, 4, 5), (8, 9, 10)
    assert [run.capture_of(step) for step in steps] == [
        *first,
        *(("capture-2", behind - 3) for behind in second),
        *(("capture-3", behind - 8) for behind in third),
    ]


def test_on_a_simulated_drive_the_last_attempt_has_repeated_what_stands() -> None:
    whole = telling_run("dirth")
    target = replace(whole.manifest.target, simulation=SIMULATION)
    manifest = replace(whole.manifest, target=target, attempts=(attempt(0), attempt(5)))
    run = replace(whole, manifest=manifest)
    assert run.capture_of(run.steps[3]) == ("capture-2", 3)
