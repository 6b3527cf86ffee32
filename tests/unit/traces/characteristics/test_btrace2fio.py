"""Shares, sizes, sequential I/Os and depth against fio's own reader of block traces."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from tests.unit.traces.characteristics.traces import Ios, figures_of, write_trace

BTRACE2FIO = next(filter(None, map(shutil.which, ("fio-btrace2fio", "btrace2fio"))), None)


@pytest.mark.skipif(BTRACE2FIO is None, reason="fio's btrace2fio is not installed")
def test_what_fio_reads_of_a_block_trace_is_what_openpts_says_of_it(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    n = 4000
    at = np.cumsum(random.exponential(2e5, n)).astype(np.int64)
    write, runs = random.random(n) < 0.3, random.random(n) < 0.6
    length = random.choice([4096, 16_384], n)
    ends = {False: 1 << 30, True: 1 << 31}
    offset = np.empty(n, np.int64)
    for i in range(n):
        kind = bool(write[i])
        offset[i] = ends[kind] if runs[i] else random.integers(0, 1 << 17) * 4096 + (1 << 32)
        ends[kind] = offset[i] + length[i]
    done = at + random.integers(50_000, 900_000, n)
    ios = Ios(at - at[0], offset, length, write, done - at[0], pid=np.full(n, 77))
    trace, binary = write_trace(tmp_path / "trace.parquet", ios), tmp_path / "trace.blktrace"
    words = ["trace", "convert", str(trace), "--to", "blktrace", "-o", str(binary)]
    assert CliRunner().invoke(cli, words).exception is None
    told = subprocess.run(
        [str(BTRACE2FIO), "-n", "1", "-t", "0", "-d", "/dev/null", str(binary)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    whole = figures_of(trace)["whole"]
    for kind, text in zip(
        ("read", "write"), re.split(r"\nwrites\n", told.partition("reads\n")[2]), strict=True
    ):
        counts, places = whole["mix"]["by_operation"][kind], whole["places"]["by_operation"][kind]
        assert int(re.findall(r"ios:\s+(\d+)", text)[0]) == counts["ios"]
        # It counts the first of each operation as sequential.
        assert int(re.findall(r"seq:\s+(\d+)", text)[0]) - 1 == places["strict"]["ios"]
        sizes = {int(size): float(share) for size, share in re.findall(r"bs=(\d+), perc=([\d.]+)%", text)}
        ours = {size: 100 * ios / counts["ios"] for size, ios in counts["lengths"]["top"]}
        assert sizes == pytest.approx(ours, abs=0.006)
    depth = int(re.findall(r"depth:\s+(\d+)", told)[0])
    assert depth == whole["completions"]["queue_depth"]["all"]["max"]
