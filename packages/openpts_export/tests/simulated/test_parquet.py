"""Tables of many runs: what DuckDB, pandas and polars read, and the queries of the manual.

What a query should answer is computed from the records themselves.
"""

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

import openpts
from openpts.analysis.latency import LatencyDistribution
from openpts.cli.main import cli
from openpts.errors import RecordError, UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.record.frames import FRAMES
from openpts.record.reader import Run, read_run
from openpts.report.sources import read_for_report
from openpts.runner.run import run_test
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact, People
from openpts.vocabulary.sample import NOTHING, Interval
from openpts_export.export import columns_of_tables, write_tables
from tests import ROOT
from tests.support.busy_host import SAMPLED, end_s, on_a_host
from tests.support.frame_rows import as_rows
from tests.support.killed_run import ordered
from tests.support.made_up_run import made_up_run
from tests.support.manual import section
from tests.support.stream_runs import measured, stored

MANUAL = ROOT / "packages/openpts/docs/python.md"
KEY = "rnd_4_kib_rw0.art"
DRIVES = tuple(
    f"sim:{name}?capacity=1GB&seed={seed}" for name in ("enterprise-tlc", "mlc") for seed in (1, 2)
)


def export(*words: object) -> Result:
    return CliRunner().invoke(
        cli, ["export", *map(str, words)], catch_exceptions=False, standalone_mode=False
    )


def with_firmware(run: Run, firmware: str, name: str) -> Run:
    dut = {**run.manifest.dut, "firmware": Fact(firmware, "made up")}
    return replace(run, manifest=replace(run.manifest, dut=dut, test_id=name))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run of each of two drives of two models, and one of two streams."""
    place = tmp_path_factory.mktemp("runs")
    found = []
    for number, target in enumerate(DRIVES):
        settings = replace(ordered("lat", place / f"{number}", target), people=People(labels={"lot": "7"}))
        found.append(run_test(PROCEDURES["lat"], settings, []).folder)
    return [*found, stored(place / "streams", measured())]


@pytest.fixture(scope="module")
def runs(folders: list[Path]) -> list[Run]:
    """The drives' runs, and those of two once more with another firmware."""
    own = [read_for_report(folder) for folder in folders[:4]]
    again = [with_firmware(run, "2.0", f"again-{number}") for number, run in enumerate(own[1:3])]
    return [*own, *again, limited()]


def limited() -> Run:
    """A run on a host whose processors were the limit in all of the last step, second by second."""
    run = made_up_run("lat")
    last = run.steps[-1].sample
    seconds = tuple(
        Interval(read=NOTHING, write=NOTHING, elapsed_ns=NS_PER_S, cpu=None, index=n, in_flight=0, errors=0)
        for n in range(last.elapsed_ns // NS_PER_S)
    )
    step = replace(run.steps[-1], sample=replace(last, intervals=seconds, interval_ns=NS_PER_S))
    run = replace(run, steps=(*run.steps[:-1], step))
    last_s = (last.started_ns - run.steps[0].sample.started_ns) / NS_PER_S
    return on_a_host(run, SAMPLED, engine_wait_pct=[(0, 0), (last_s, 1), (end_s(run), 60)])


@pytest.fixture(scope="module")
def lab(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables") / "lab"
    assert write_tables(folder, runs) == len(runs)
    return folder


def asked(heading: str, lab: Path) -> list[dict[str, Any]]:
    """The answer to the query below a heading of the page."""
    sql = section(MANUAL, heading).split("```sql\n")[1].split("```")[0]
    found = duckdb.sql(sql.replace("'lab/", f"'{lab}/"))
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def fact(run: Run, name: str) -> str | None:
    return run.manifest.dut[name].value


def art(run: Run) -> float:
    (found,) = (one.value for one in openpts.measures(run) if one.key == KEY)
    assert found is not None
    return float(found)


def by(runs: Iterable[Run], *names: str) -> dict[tuple[str | None, ...], list[Run]]:
    found = defaultdict(list)
    for run in runs:
        found[tuple(fact(run, name) for name in names)].append(run)
    return dict(found)


def test_which_runs_are_there(runs: list[Run], lab: Path) -> None:
    rows = asked("Which runs are there?", lab)
    wanted = sorted(runs, key=lambda run: run.manifest.started_at)
    assert [row["started_at"] for row in rows] == [run.manifest.started_at for run in wanted]
    assert {(row["run"], row["serial"], row["firmware"]) for row in rows} == {
        (run.manifest.test_id, fact(run, "serial"), fact(run, "firmware")) for run in runs
    }


def test_a_figure_over_firmware(runs: list[Run], lab: Path) -> None:
    rows = asked("How did a figure go over firmware?", lab)
    groups = by(runs, "model", "firmware")
    assert len(groups) == len(rows) > 3
    for row in rows:
        values = [art(run) for run in groups[row["model"], row["firmware"]]]
        found = (row["runs"], row["least"], row["median"], row["most"])
        assert found == (len(values), min(values), pytest.approx(statistics.median(values)), max(values))


def test_drives_of_a_model(runs: list[Run], lab: Path) -> None:
    rows = {row["model"]: row for row in asked("How do the drives of a model differ?", lab)}
    for (model,), own in by(runs, "model").items():
        drives = {
            serial: statistics.median(map(art, of_drive)) for (serial,), of_drive in by(own, "serial").items()
        }
        row = rows.pop(model)
        assert (row["drives"], row["median"]) == (
            len(drives),
            pytest.approx(statistics.median(drives.values())),
        )
        # of equal drives any is the lowest
        assert (drives[row["lowest"]], drives[row["highest"]]) == (min(drives.values()), max(drives.values()))
        if len(drives) > 1:
            values = [*drives.values()]
            deviation_pct = 100 * statistics.stdev(values) / statistics.mean(values)
            assert row["deviation_pct"] == pytest.approx(deviation_pct)
    assert not rows


def test_the_distribution_of_latencies(runs: list[Run], lab: Path) -> None:
    """As the analysis merges histograms, which asks for no sorted list of buckets."""
    rows = asked("How are latencies distributed?", lab)
    assert len(rows) > 3
    for row in rows:
        histograms = [
            step.sample.operations[row["operation"]].histogram
            for run in runs
            for step in run.steps
            if fact(run, "model") == row["model"]
            and row["operation"] in step.sample.operations
            and step.sample.operations[row["operation"]].ios
        ]
        whole = LatencyDistribution.merged(histograms)
        assert row["ios"] == sum(count for _, _, count in whole.buckets())
        for name, percentile in (("p50_ns", 50), ("p99_ns", 99), ("p99_9_ns", 99.9)):
            assert row[name] == whole.percentile_ns(percentile)


def test_where_the_host_was_the_limit(runs: list[Run], lab: Path) -> None:
    (row,) = asked("Where was the host the limit?", lab)
    seconds = len(runs[-1].steps[-1].sample.intervals)
    assert seconds > 0
    assert row == {
        "run": runs[-1].manifest.test_id,
        "host_limited": "processor",
        "intervals": seconds,
        "seconds": seconds,
    }


def test_energy(runs: list[Run], lab: Path) -> None:
    """Once more by the drive's own count of joules, over all loads of a run."""
    rows = asked("What does it take in energy?", lab)
    means = {
        (row["model"], row["firmware"]): row["median"] for row in rows if row["key"] == "energy.loads.mean_w"
    }
    assert means
    for (model, firmware), own in by(runs, "model", "firmware").items():
        watts = [mean_w(run) for run in own if "drive_energy_j" in run.telemetry_series]
        if watts:
            assert means[model, firmware] == pytest.approx(statistics.median(watts), rel=0.02)


def mean_w(run: Run) -> float:
    joules = seconds = 0.0
    series = run.telemetry_series["drive_energy_j"]
    counts = dict(zip(series.t_ns, series.values, strict=True))
    for step in run.steps:
        begin_ns = step.sample.started_ns
        end_ns = begin_ns + step.sample.elapsed_ns
        joules += at(counts, end_ns) - at(counts, begin_ns)
        seconds += step.sample.elapsed_ns / NS_PER_S
    return joules / seconds


def at(counts: dict[int, float], t_ns: int) -> float:
    """The count at a time, on a line between its readings."""
    before = max((t for t in counts if t <= t_ns), default=min(counts))
    after = min((t for t in counts if t >= t_ns), default=max(counts))
    share = 0.0 if after == before else (t_ns - before) / (after - before)
    return counts[before] + share * (counts[after] - counts[before])


@pytest.mark.parametrize("name", columns_of_tables())
def test_three_programs_read_the_same_rows(name: str, runs: list[Run], lab: Path) -> None:
    columns = columns_of_tables()[name]
    in_duckdb = duckdb.sql(f"FROM '{lab}/{name}/*.parquet'")
    assert dict(zip(in_duckdb.columns, map(str, in_duckdb.types), strict=True)) == columns
    rows = [dict(zip(in_duckdb.columns, row, strict=True)) for row in in_duckdb.fetchall()]
    in_polars = pl.read_parquet(f"{lab}/{name}/*.parquet")
    assert sorted(map(str, in_polars.select(sorted(columns)).rows())) == sorted(
        str(tuple(row[column] for column in sorted(columns))) for row in rows
    )
    in_pandas = pd.read_parquet(lab / name)
    assert (set(in_pandas.columns), len(in_pandas)) == (set(columns), len(rows))
    if name in FRAMES:
        parts = defaultdict(list)
        for row in rows:
            parts[row.pop("run")].append(row)
        assert {run.manifest.test_id: as_rows(run.frame(name)) for run in runs} == {
            run.manifest.test_id: parts[run.manifest.test_id] for run in runs
        }


def test_a_run_that_is_exported_again_replaces_its_files(folders: list[Path], tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    assert export(*folders[:2], "--parquet", lab).exit_code == 0
    before = {path: path.read_bytes() for path in lab.rglob("*.parquet")}
    assert len(before) == len(columns_of_tables()) * 2
    assert export(folders[1], folders[0], "--parquet", lab).exit_code == 0
    assert {path: path.read_bytes() for path in lab.rglob("*.parquet")} == before
    labels = duckdb.sql(f"SELECT run, name, value FROM '{lab}/labels/*.parquet' ORDER BY run").fetchall()
    assert labels == sorted((read_run(one).manifest.test_id, "lot", "7") for one in folders[:2])


def test_what_cannot_be_exported_is_refused_by_name(folders: list[Path], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "run.db").write_bytes((folders[0] / "run.db").read_bytes()[:10_000])
    with pytest.raises(RecordError, match=re.escape(str(damaged))):
        export(folders[0], damaged, "--parquet", tmp_path / "lab")
    ids = [path.name for path in (tmp_path / "lab" / "runs").iterdir()]
    assert ids == [f"{read_run(folders[0]).manifest.test_id}.parquet"], "what came before it is there"
    for place in (folders[1], folders[1] / "tables"):
        with pytest.raises(UsageError, match="has the record of a run; name another place"):
            export(folders[0], "--parquet", place)
