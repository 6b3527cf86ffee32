"""What questions to an archive of 100,000 runs take: time of processors, time on the clock, memory.

Two tests are run on simulated drives and added to an archive. Their entries in the catalogue are varied:
model, serial number, firmware, label, time, each measure by some per cent. The runs of one model, 1,000 of
them, also have their distributions of response times, with counts varied, as files of their own. The
catalogue has files of 10,000 entries, as `openpts archive compact` leaves them.

    .venv/bin/python -m benches.archive_queries [--runs 100000] [--with-tables 1000] [--keep FOLDER]

Each question is a process of its own that begins without DuckDB loaded, as on the command line; it is put
five times. Times of processors are user and system together, of all threads; memory is the largest resident
set. The page cache is warm after the first one.
"""

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as arrow
from pyarrow import parquet
from tests.support.openpts_command import COMMAND

from openpts.record.frames import arrow_table
from openpts_many.archive.add import add_runs
from openpts_many.archive.catalogue import CATALOGUE
from openpts_many.archive.store import Store
from openpts_many.archive.tables import CATALOGUE_COLUMNS, LATENCIES, parquet_bytes

_TESTS: Final = (("iops", "sim:mlc?capacity=4GB"), ("lat", "sim:enterprise-tlc?capacity=4GB"))
_SEGMENT: Final = 10_000
_MODEL: Final = "model-00"
_REPEATS: Final = 5
_QUESTIONS: Final[dict[str, tuple[str, ...]]] = {
    "runs by model and firmware": ("--by", "model,firmware"),
    "runs of a label": ("--where", "labels['lot'] = '7' and test = 'lat'", "--by", "model"),
    "a measure over all runs by model": ("--measure", "iops.rnd-4k-rw0", "--by", "model,firmware"),
    "outliers of a measure, in SQL": (
        "--sql",
        "select run, value from measures where key = 'rnd_4_kib_rw0.iops' order by value limit 10",
    ),
    "p99.9 of one stimulus over the runs of a model": (
        *("--where", f"model = '{_MODEL}'", "--percentile", "p99.9"),
        *("--measure", "iops.rnd-4k-rw65", "--by", "firmware"),
    ),
    "p50, p99.9, p99.999 of all stimuli over the same": (
        *("--where", f"model = '{_MODEL}'", "--by", "firmware"),
        *("--percentile", "p50", "--percentile", "p99.9", "--percentile", "p99.999"),
    ),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--with-tables", type=int, default=1_000)
    arguments.add_argument("--keep", type=Path, help="leave the archive here, and use one that is there")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = chosen.keep or Path(temporary) / "archive"
        if not place.exists():
            fill(place, Path(temporary), chosen.runs, chosen.with_tables)
        for folder in (CATALOGUE, "data"):
            files = [one for one in (place / folder).rglob("*") if one.is_file()]
            print(f"{folder}: {len(files):,} files, {sum(one.stat().st_size for one in files) / 1e6:,.1f} MB")
        print(f"{'question':52} {'CPU s':>7} {'wall s':>7} {'MB':>6} {'rows':>6}   medians of {_REPEATS}")
        for name, words in _QUESTIONS.items():
            asked = [ask(place, words) for _ in range(_REPEATS)]
            cpu_s, wall_s, memory_mb, rows = (
                statistics.median(column) for column in zip(*asked, strict=True)
            )
            print(f"{name:52} {cpu_s:7.2f} {wall_s:7.2f} {memory_mb:6.0f} {rows:6.0f}")


def fill(place: Path, scratch: Path, runs: int, with_tables: int) -> None:
    """An archive with so many runs of which so many have their distributions."""
    folders = []
    for test, target in _TESTS:
        folders.append(scratch / test)
        words = ("run", test, target, "--quick", "--out", str(folders[-1]), "--label", "lot=0")
        subprocess.run([*COMMAND, *words], check=True, capture_output=True)
    store = Store.of(str(place))
    started = time.process_time()
    for added in add_runs(store, folders, redact=False, replace=False):
        took_s = time.process_time() - started
        print(f"added {added.run}: {added.size_bytes / 1e6:.2f} MB in {took_s:.1f} s of CPU")
        started = time.process_time()
    rows = [row for name in store.names(CATALOGUE) for row in parquet.read_table(place / name).to_pylist()]
    rows.sort(key=lambda row: str(row["test"]))  # files are named by chance: the label goes with one test
    tables = {row["run"]: parquet.read_table(place / row["folder"] / f"{LATENCIES}.parquet") for row in rows}
    for name in store.names(CATALOGUE):
        store.remove(name)
    random.seed(1)
    pending: list[dict[str, Any]] = []
    for number, (row, of) in enumerate(varied(rows, runs)):
        if number < with_tables:
            row["model"] = _MODEL
            content = parquet_bytes([of_run(tables[of], row["run"])])
            (place / row["folder"]).mkdir(parents=True)
            (place / row["folder"] / f"{LATENCIES}.parquet").write_bytes(content)
            row |= {"file_table": [LATENCIES], "file_bytes": [len(content)]}
        pending.append(row)
        if len(pending) == _SEGMENT or number == runs - 1:
            content = parquet_bytes([arrow_table(CATALOGUE_COLUMNS, pending)])
            (place / CATALOGUE / f"{number}.parquet").write_bytes(content)
            pending = []


def varied(rows: list[dict[str, Any]], runs: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Entries like these, with the run that each is like."""
    for number in range(runs):
        like = rows[number % len(rows)]
        run = f"{number:06}-20260101T000000Z-{like['test']}"
        values = [
            None if one is None else one * random.lognormvariate(0, 0.02) for one in like["measure_value"]
        ]
        yield (
            like
            | {
                "run": run,
                "model": f"model-{1 + number % 99:02}",
                "serial": f"S{number // 4:06}",
                "firmware": f"FW{number % 3}",
                "labels": [("lot", str(number % 50))],
                "started_at": f"2026-{1 + number % 12:02}-{1 + number % 28:02}T00:00:00+00:00",
                "measure_value": values,
                "folder": f"data/model=varied/test={like['test']}/year=2026/{run}~00000000",
                "file_table": [],
                "file_bytes": [],
                "file_sha256": [],
            },
            like["run"],
        )


def of_run(table: arrow.Table, run: str) -> arrow.Table:
    """The distributions of another run: counts of each bucket vary by some per cent."""
    counts = table["bucket_ios"].combine_chunks()
    other = [round(one * random.uniform(0.9, 1.1)) for one in counts.flatten().to_pylist()]
    lists = arrow.ListArray.from_arrays(counts.offsets, arrow.array(other, arrow.int64()))
    table = table.set_column(table.schema.get_field_index("bucket_ios"), "bucket_ios", lists)
    return table.set_column(0, "run", arrow.array([run] * table.num_rows, arrow.string()))


def ask(place: Path, words: tuple[str, ...]) -> tuple[float, float, float, float]:
    """Seconds of processors, on the clock, memory in MB, and rows of the answer."""
    command = [*COMMAND, "archive", "query", str(place), *words, "--csv"]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    rows = len(process.stdout.read().splitlines()) - 1
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / 1024, rows)


if __name__ == "__main__":
    main()
