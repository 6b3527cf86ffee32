"""What the schemas of docs/ say of JSON about traces, against what is printed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from openpts.cli.main import cli
from tests.support.made_step_table import write_step_table
from tests.unit.traces.characteristics.traces import Ios, random_ios, write_trace

DOCS = Path(__file__).parents[4] / "docs"


def printed(*words: str | Path) -> Any:
    done = CliRunner().invoke(cli, ["trace", *map(str, words), "--json"])
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def check(name: str, value: Any) -> None:
    schema = json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    errors = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in Draft202012Validator(schema).iter_errors(value)
    ]
    assert not errors


def trace(folder: Path, seed: int) -> Path:
    """One of many kinds: few and many I/Os, one and several devices, with and without completions."""
    ios = random_ios(seed, [400, 1, 3, 2000, 50][seed % 5], devices=1 + seed % 3)
    if seed % 2:
        ios.pid = None
    if seed % 3 == 0:
        ios.done = None
    capacity_bytes = None if seed % 2 else 10**10
    resolution_ns = 1 if seed % 4 else 1_000_000
    path = folder / f"{seed}.parquet"
    return write_trace(path, ios, capacity_bytes=capacity_bytes, resolution_ns=resolution_ns)


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("seed", range(8))
def test_figures_of_all_kinds_of_traces(seed: int, tmp_path: Path) -> None:
    source = trace(tmp_path, seed)
    for words in ((), ("--by", "stream")):
        check("characterize", printed("characterize", source, *words))


@pytest.mark.slow
def test_figures_of_a_long_trace_and_of_flushes_alone(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    n = 40_000
    at = np.cumsum(random.exponential(2e5, n)).astype(np.int64)
    offset = random.integers(0, 3000, n) * 4096
    long = Ios(at - at[0], offset, np.full(n, 4096), random.random(n) < 0.4)
    check("characterize", printed("characterize", write_trace(tmp_path / "long.parquet", long)))
    none = np.zeros(3, np.int64)
    flushes = Ios(np.arange(3) * 1000, none, none, none.astype(bool), operation=["flush"] * 3)
    check("characterize", printed("characterize", write_trace(tmp_path / "flushes.parquet", flushes)))


def test_distances_and_what_is_like_a_trace(tmp_path: Path) -> None:
    one, other = trace(tmp_path, 0), trace(tmp_path, 3)
    check("trace-distances", printed("characterize", one, other))
    model = ("--model", tmp_path / "like.toml")
    drive = ("--check", "sim:enterprise-tlc")
    for words in ((), drive, (*model, *drive), (*model, "--held-out")):
        check("synthesize", printed("synthesize", one, *words))


def test_figures_of_a_step_table(tmp_path: Path) -> None:
    table = write_step_table(
        tmp_path / "steps.parquet", [{("read", "rnd", 4096): 9}, {("flush", "na", 0): 1}]
    )
    check("characterize", printed("characterize", table))
