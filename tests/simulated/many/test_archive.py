"""Archives of finished runs: held against records, exact samples, killed and concurrent writers, and S3."""

import csv
import hashlib
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from docs.schema_files import ARCHIVE_TABLES
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pyarrow import fs, parquet
from syrupy.assertion import SnapshotAssertion

from openpts.analysis.latency import encode_counts
from openpts.cli.main import cli
from openpts.errors import OpenptsError
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import read_run
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME
from openpts.report.summary import summarize
from openpts.runner.run import run_test
from openpts.runs.measured_run import MeasuredRun
from openpts.vocabulary.people import People
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from openpts_many.archive.catalogue import CATALOGUE, MOST_SMALL, catalogue_files, commit, entries, merge
from openpts_many.archive.check import check
from openpts_many.archive.distributions import coarse_buckets, distribution_of, error_bound_pct
from openpts_many.archive.engine import Engine
from openpts_many.archive.store import Store
from openpts_many.archive.tables import RUN_VIEW, columns_of_archive, parquet_bytes
from tests.device.openpts_process import openpts
from tests.simulated.killed_run import ordered
from tests.simulated.one_point import run_one_point
from tests.support.openpts_command import COMMAND
from tests.support.s3_server import KEYS_A_PAGE, SERVERS, Variables, missing_swift
from tests.support.transcript import Golden

FROZEN = Path(__file__).parents[2] / "data/interfaces"
POINT = TrackingVariable(AccessPattern.RANDOM, 4096, 65)
SUBJECT = "iops.rnd-4k-rw65"
FILES_OF_A_RUN = 10


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same short test on three simulated drives."""
    place = tmp_path_factory.mktemp("runs")
    for seed in (1, 2, 3):
        target = f"enterprise-tlc?capacity=1GB&state=worn-in&seed={seed}"
        run_one_point(
            target,
            place / f"run{seed}",
            max_rounds=5,
            step_s=0.1,
            point=POINT,
            purge=PurgeChoice.NONE,
            seed=seed,
        )
    return sorted(place.iterdir())


@pytest.fixture(scope="module")
def labeled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    order = ordered("lat", tmp_path_factory.mktemp("run") / "run")
    return run_test(PROCEDURES["lat"], replace(order, people=People(labels={"lot": "7"})), []).folder


@pytest.fixture(scope="module")
def archive(runs: list[Path], labeled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("archive") / "lab"
    done("add", *runs, labeled, "--to", place)
    return place


def called(*words: object) -> tuple[int, str, str]:
    """The exit code, what is printed, and what an error says."""
    result = CliRunner().invoke(cli, ["archive", *map(str, words)], standalone_mode=False)
    if isinstance(result.exception, OpenptsError):
        return result.exception.exit_code, result.stdout, f"{result.stderr}{result.exception}"
    assert result.exception is None, result.exception
    return result.return_value or 0, result.stdout, result.stderr


def done(*words: object) -> str:
    code, printed, error = called(*words)
    assert code == 0, error
    return printed


def rows(place: object, *words: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done("query", place, *words, "--json"))["rows"]
    return found


def files_of(place: Path) -> dict[str, bytes]:
    return {str(one.relative_to(place)): one.read_bytes() for one in place.rglob("*") if one.is_file()}


def run_ids(folders: Sequence[Path]) -> set[str]:
    return {read_run(folder).manifest.test_id for folder in folders}


def test_a_run_that_is_there_is_not_added_again(runs: list[Path], tmp_path: Path) -> None:
    assert done("add", runs[0], "--to", tmp_path / "a").startswith("added: ")
    before = files_of(tmp_path / "a")
    assert done("add", runs[0], "--to", tmp_path / "a").startswith("already there: ")
    assert files_of(tmp_path / "a") == before


def test_measures_are_those_of_the_runs_own_report(archive: Path, runs: list[Path], labeled: Path) -> None:
    for folder in (*runs, labeled):
        run = read_run(folder)
        own = {key: one["value"] for key, one in summarize(run)["measures"].items()}
        found = rows(
            archive, "--sql", f"SELECT key, value FROM measures WHERE run = '{run.manifest.test_id}'"
        )
        assert {one["key"]: one["value"] for one in found} == own
        assert any(value is not None for value in own.values())


def test_a_measure_over_runs_is_their_mean(archive: Path, runs: list[Path]) -> None:
    own = [summarize(read_run(folder))["measures"]["rnd_4_kib_rw65.iops"]["value"] for folder in runs]
    assert [row["value"] for row in rows(archive, "--measure", SUBJECT)] == own
    [row] = rows(archive, "--measure", SUBJECT, "--by", "model,firmware")
    assert (row["runs"], row["min"], row["max"]) == (3, min(own), max(own))
    assert row["mean"] == pytest.approx(np.mean(own))
    assert row["std"] == pytest.approx(np.std(own, ddof=1))


def test_percentiles_of_a_run_are_those_of_its_record_within_the_stated_error(
    archive: Path, runs: list[Path]
) -> None:
    for folder in runs:
        run = read_run(folder)
        [row] = rows(
            archive,
            *("--percentile", "p50", "--percentile", "3 nines", "--measure", SUBJECT),
            *("--where", f"run = '{run.manifest.test_id}'"),
        )
        own = MeasuredRun.of(run)
        assert row["mean_ms"] == own.find(f"{SUBJECT}.mean").value
        assert row["max_ms"] == own.find(f"{SUBJECT}.max").value
        for name in ("p50", "p99.9"):
            of_record = own.find(f"{SUBJECT}.{name}").value
            assert of_record <= row[f"{name}_ms"] <= of_record * (1 + error_bound_pct(128) / 100)


@pytest.mark.slow
def test_percentiles_by_any_field_have_each_run_once(archive: Path, runs: list[Path]) -> None:
    """By run, those of each: a field may be called as a column of the distributions is."""
    words = ("--percentile", "p50", "--measure", SUBJECT)
    by_run = {row["run"]: row for row in rows(archive, *words, "--by", "run")}
    assert by_run.keys() == run_ids(runs)
    for run_id, row in by_run.items():
        [alone] = rows(archive, *words, "--where", f"run = '{run_id}'")
        assert {**alone, "run": run_id} == row
    for field in RUN_VIEW:
        assert sum(row["runs"] for row in rows(archive, *words, "--by", field)) == len(runs)


def test_percentiles_over_runs_are_of_all_their_ios_together(archive: Path, runs: list[Path]) -> None:
    samples_ns: list[int] = []
    for folder in runs:
        run = read_run(folder)
        judged = [n for n, step in enumerate(run.steps) if step.place.phase == "round"]
        for bucket in run.frame("histograms").to_pylist():
            if bucket["step"] in judged:
                samples_ns += [bucket["highest_ns"]] * bucket["ios"]
    [row] = rows(archive, "--percentile", "p99.9", "--measure", SUBJECT, "--by", "model")
    exact_ms = np.percentile(samples_ns, 99.9, method="inverted_cdf") / 1e6
    assert (row["runs"], row["ios"]) == (3, len(samples_ns))
    assert exact_ms * (1 - 1 / 1024) <= row["p99.9_ms"] <= exact_ms * (1 + error_bound_pct(128) / 100)


@given(
    st.lists(st.lists(st.integers(1, 2**40), max_size=50), min_size=1, max_size=4),
    st.sampled_from([32, 128]),
    st.sampled_from([0.0, 50.0, 90.0, 99.9, 100.0]),
)
def test_merged_buckets_bound_exact_samples(
    parts: list[list[int]], per_octave: int, percentile: float
) -> None:
    merged: dict[int, int] = {}
    for part in parts:
        highest_ns, ios = coarse_buckets(encode_counts((value, 1) for value in part), per_octave)
        for high, count in zip(highest_ns, ios, strict=True):
            merged[high] = merged.get(high, 0) + count
    samples = [value for part in parts for value in part]
    distribution = distribution_of(merged.items())
    assert distribution.count == len(samples)
    if samples:
        exact = np.percentile(np.array(samples, dtype=np.int64), percentile, method="inverted_cdf")
        stated = distribution.percentile_ns(percentile)
        assert stated is not None
        assert exact <= stated <= exact * (1 + error_bound_pct(per_octave) / 100)


def test_intervals_have_all_ios_of_their_steps(archive: Path) -> None:
    [row] = rows(
        archive,
        "--sql",
        "SELECT sum(list_sum(bucket_ios)) AS binned, sum(ios) AS ios, (SELECT sum(ios) FROM latencies "
        "WHERE stream IS NULL) AS of_steps FROM interval_latencies",
    )
    assert int(row["binned"]) == int(row["ios"]) == int(row["of_steps"]) > 0


def test_nothing_is_among_the_answers_of_long_questions(archive: Path) -> None:
    asked = "SELECT current_setting('enable_progress_bar') AS bar"
    assert rows(archive, "--sql", asked) == [{"bar": False}]


def test_an_archive_has_the_tables_that_are_documented(archive: Path) -> None:
    documented = json.loads(ARCHIVE_TABLES.read_text())["tables"]
    assert documented == columns_of_archive()
    for name, columns in documented.items():
        table = csv.reader(io.StringIO(done("query", archive, "--sql", f"SELECT * FROM {name}", "--csv")))
        assert next(table) == list(columns), name
    for frozen in FROZEN.glob("archive-tables-1.*.json"):
        for name, columns in json.loads(frozen.read_text())["tables"].items():
            assert columns.items() <= documented[name].items()


def test_runs_of_a_later_minor_version_are_asked_with_the_others(archive: Path, tmp_path: Path) -> None:
    place = shutil.copytree(archive, tmp_path / "a")
    store = Store.of(str(place))
    for name in catalogue_files(store):
        [row] = (table := parquet.read_table(place / name)).to_pylist()
        if row["test"] == "lat":
            later = table.set_column(
                table.schema.get_field_index("archive_version"), "archive_version", [["1.1"]]
            )
            store.write({name: parquet_bytes([later.append_column("slot", [["s07"]])])})
            of_run = f"{row['folder']}/latencies.parquet"
            latencies = parquet.read_table(place / of_run)
            more = latencies.append_column("retries", [[1] * latencies.num_rows])
            store.write({of_run: parquet_bytes([more])})
    for words in (("--measure", SUBJECT), ("--percentile", "p99", "--by", "test"), ()):
        assert rows(place, *words) == rows(archive, *words)
    assert merge(store) == 4
    assert rows(place) == rows(archive)
    found = rows(place, "--sql", "SELECT DISTINCT retries FROM latencies ORDER BY ALL")
    assert [row["retries"] for row in found] == [1, None]


KILLED = """
import os, signal
from pathlib import Path
from openpts.cli.main import main
renamed, rename = [], os.rename
def fatal(*words, **more):
    renamed.append(words)
    if len(renamed) == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*words, **more)
os.rename = fatal
main()
"""


KILLED_AT = sorted(random.Random(22).sample(range(1, 3 * FILES_OF_A_RUN), 4))


@pytest.mark.parametrize(
    "at", [*KILLED_AT[1::2], *(pytest.param(at, marks=pytest.mark.slow) for at in KILLED_AT[::2])]
)
def test_a_killed_add_leaves_an_archive_to_go_on_with(at: int, runs: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "a"
    words = [sys.executable, "-c", KILLED.format(at=at), "archive", "add", *runs, "--to", place]
    killed = subprocess.run(words, check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL
    whole = killed.stdout.count("added: ")
    if (place / "archive.json").exists():
        done("check", place)
        seen = {row["run"] for row in rows(place)}
        assert seen <= run_ids(runs)
        assert whole <= len(seen) <= whole + 1
        ios = rows(place, "--sql", "SELECT run, sum(ios) FROM latencies GROUP BY run")
        assert {row["run"] for row in ios} == seen
    done("add", *runs, "--to", place)
    assert {row["run"] for row in rows(place)} == run_ids(runs)
    done("check", place)


def test_what_a_killed_add_left_is_removed_after_a_day(runs: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "a"
    done("add", runs[0], "--to", place)
    [folder] = [one.parent for one in place.rglob("latencies.parquet")]
    left = folder.with_name(f"{folder.name.partition('~')[0]}~0123abcd")
    shutil.copytree(folder, left)
    assert left.name in done("check", place)
    done("compact", place)
    assert left.exists()
    for one in left.iterdir():
        os.utime(one, (time.time() - 90_000,) * 2)
    done("compact", place)
    assert not left.exists()
    assert folder.exists()
    assert left.name not in done("check", place)


@pytest.mark.slow
def test_two_may_add_at_once_while_others_ask(runs: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "a"
    done("add", runs[0], "--to", place)
    words = [*COMMAND, "archive", "add", *map(str, runs), "--to", str(place)]
    adding = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    while any(one.poll() is None for one in adding):
        seen = rows(place)
        assert len(seen) == len({row["run"] for row in seen})
    assert [one.wait() for one in adding] == [0, 0]
    for one in adding:
        assert one.stdout is not None
        one.stdout.close()
    assert [row["run"] for row in rows(place)] == sorted(run_ids(runs))
    done("check", place)


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x55
    path.write_bytes(content)


def test_a_damaged_file_is_named_and_can_be_written_again(
    runs: list[Path], tmp_path: Path, golden: Golden
) -> None:
    place = tmp_path / "a"
    done("add", *runs[:2], "--to", place)
    [damaged] = [
        one for one in place.rglob("latencies.parquet") if read_run(runs[0]).manifest.test_id in str(one)
    ]
    flip_a_byte(damaged)
    code, printed, _ = called("check", place)
    assert code == 8
    assert str(damaged.relative_to(place)) in printed
    assert done("check", place, "--quick") == golden
    damaged.unlink()
    assert called("check", place, "--quick")[0] == 8
    assert done("add", runs[0], "--replace", "--to", place).startswith("added: ")
    assert "replaced: " in done("check", place)


def test_many_files_are_read_at_once_and_findings_come_in_the_order_of_the_catalogue(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(archive, tmp_path / "a")
    tables = sorted(place.glob("data/**/*.parquet"))
    for path in tables[::3]:
        flip_a_byte(path)
    for path in tables[1::5]:
        path.unlink()
    expected = []
    for name in sorted((place / CATALOGUE).iterdir()):
        for row in parquet.read_table(name).to_pylist():
            for table, sha256 in zip(row["file_table"], row["file_sha256"], strict=True):
                path = place / row["folder"] / f"{table}.parquet"
                if not path.exists():
                    expected.append(("missing", str(path.relative_to(place))))
                elif hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
                    expected.append(("damaged", str(path.relative_to(place))))
    together, read = threading.Barrier(4), Store.read
    first = {str(path.relative_to(place)) for path in tables[:4]}

    def reading(store: Store, name: str) -> bytes:
        if name in first:
            together.wait(60)
        return read(store, name)

    monkeypatch.setattr(Store, "read", reading)
    found = check(Store.of(str(place)), quick=False).findings
    assert [(one.kind, one.name) for one in found] == expected
    assert len(expected) >= len(tables) // 3


def test_a_damaged_catalogue_is_named_and_can_be_made_again(runs: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "a"
    done("add", *runs, "--to", place)
    damaged = min((place / CATALOGUE).iterdir())
    flip_a_byte(damaged)
    code, printed, _ = called("check", place)
    assert code == 8
    assert str(damaged.relative_to(place)) in printed
    damaged.unlink()
    done("add", *runs, "--to", place)
    assert {row["run"] for row in rows(place)} == run_ids(runs)


def test_small_files_of_the_catalogue_are_merged_without_losing_any(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.of(str(tmp_path / "a"))
    [like] = parquet.read_table(next((archive / CATALOGUE).iterdir())).to_pylist()
    for number in range(MOST_SMALL + 3):
        commit(store, like | {"run": f"run-{number:03}", "added_at": f"2026-{number:03}"})
    before = {entry.run for entry in entries(store)}
    assert len(before) == MOST_SMALL + 3
    with monkeypatch.context() as patched:  # killed between the new file and the removal of the first old one
        patched.setattr(Store, "remove", lambda *_: sys.exit("killed"))
        with pytest.raises(SystemExit):
            merge(store)
    assert len(catalogue_files(store)) == MOST_SMALL + 4
    assert len(list(entries(store))) == 2 * len(before)
    assert Engine(store, None).rows("SELECT count(*), count(DISTINCT run) FROM runs") == [(len(before),) * 2]
    assert merge(store, at_least=MOST_SMALL) == MOST_SMALL + 4
    assert len(catalogue_files(store)) == 1
    assert {entry.run for entry in entries(store)} == before
    assert Engine(store, None).rows("SELECT count(*), count(DISTINCT run) FROM runs") == [(len(before),) * 2]


def test_another_run_with_the_same_id_is_refused(runs: list[Path], tmp_path: Path) -> None:
    other = shutil.copytree(runs[0], tmp_path / "other")
    with closing(sqlite3.connect(other / DATABASE_NAME)) as database, database:
        database.execute(
            """UPDATE manifest SET json = '"2020-01-01T00:00:00+00:00"' WHERE section = 'started_at'"""
        )
        database.execute("DELETE FROM manifest WHERE section = ?", (CHECKSUM_SECTION,))
    done("add", runs[0], "--to", tmp_path / "a")
    code, _, error = called("add", other, runs[1], "--to", tmp_path / "a")
    assert code == 8
    assert "another run with the ID" in error
    assert len(rows(tmp_path / "a")) == 2


def test_serial_numbers_can_be_left_out(labeled: Path, tmp_path: Path) -> None:
    done("add", labeled, "--redact", "--to", tmp_path / "a")
    run = read_run(labeled)
    serial = run.manifest.dut["serial"].value
    assert serial
    for name in columns_of_archive():
        assert serial not in done("query", tmp_path / "a", "--sql", f"SELECT * FROM {name}", "--json")
    assert not any(serial in name for name in files_of(tmp_path / "a"))


@pytest.fixture(scope="module", params=["moto", pytest.param("swift", marks=pytest.mark.slow)])
def s3_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Variables]:
    if request.param == "swift" and (why := missing_swift()):
        pytest.skip(why)
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as variables:
        yield variables


@pytest.fixture
def s3(s3_server: Variables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an archive that has not been made yet."""
    for name, value in s3_server.items():
        monkeypatch.setenv(name, value)
    server = s3_server["AWS_ENDPOINT_URL"]
    bucket = fs.S3FileSystem(endpoint_override=server, region="us-east-1", allow_bucket_creation=True)
    bucket.create_dir("lab")
    return f"s3://lab/{tmp_path.name}"


@pytest.mark.slow
def test_s3_holds_what_a_folder_does(
    s3: str, archive: Path, runs: list[Path], labeled: Path, golden: Golden
) -> None:
    added = done("add", *runs, labeled, "--to", s3)
    assert added.count("added: ") == 4
    assert done("add", runs[0], "--to", s3).startswith("already there: ")
    for words in (
        ("--by", "model,label.lot"),
        ("--measure", SUBJECT),
        ("--percentile", "p99.9", "--by", "model", "--where", "test = 'iops'"),
        ("--sql", "SELECT run, step, sum(ios) FROM interval_latencies GROUP BY ALL ORDER BY ALL"),
    ):
        assert rows(s3, *words) == rows(archive, *words)
    objects = Store.of(s3).names()
    assert len(objects) == len(files_of(archive)) > 2 * KEYS_A_PAGE
    done("check", s3)
    done("compact", s3)
    assert len(catalogue_files(Store.of(s3))) == 1
    assert rows(s3) == rows(archive)
    assert called("query", "s3://nothing/there")[0] == 2
    for place in ("/etc/passwd", "s3://other/file"):
        assert called("query", s3, "--sql", f"SELECT * FROM read_text('{place}')")[0] == 2


@pytest.mark.slow
def test_two_add_to_s3_and_one_is_killed(s3: str, archive: Path, runs: list[Path]) -> None:
    """In the midst of its second run; the other one is not disturbed."""
    words = [*COMMAND, "archive", "add", *map(str, runs), "--to", s3]
    store = Store.of(s3)
    with subprocess.Popen(words) as first, subprocess.Popen(words) as second:
        deadline_s = time.monotonic() + 120
        while len(store.names()) < 2 * FILES_OF_A_RUN:
            assert time.monotonic() < deadline_s
        first.kill()
        assert second.wait() == 0
    done("check", s3)
    found = "SELECT run, sum(ios) AS ios FROM latencies GROUP BY ALL ORDER BY ALL"
    assert rows(s3, "--sql", found) == rows(archive, "--where", "test = 'iops'", "--sql", found)
    assert done("add", *runs, "--to", s3).count("already there: ") == len(runs)


KILLED_AT_THE_THIRD_REMOVAL = """
import os, signal
from openpts_many.archive.store import Store
from openpts.cli.main import main
removed, remove = [], Store.remove
def fatal(store, name):
    removed.append(name)
    if len(removed) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    remove(store, name)
Store.remove = fatal
main()
"""


@pytest.mark.slow
def test_a_killed_compact_on_s3_loses_no_run(s3: str, runs: list[Path], labeled: Path) -> None:
    done("add", *runs, labeled, "--to", s3)
    before = rows(s3)
    files = catalogue_files(Store.of(s3))
    words = [sys.executable, "-c", KILLED_AT_THE_THIRD_REMOVAL, "archive", "compact", s3]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    left = catalogue_files(Store.of(s3))
    assert len(left) == len(files) + 1 - 2
    done("check", s3)
    assert rows(s3) == before
    assert f"{len(left)} files of the catalogue merged" in done("compact", s3)
    assert len(catalogue_files(Store.of(s3))) == 1
    assert rows(s3) == before


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--by", "test,label.lot"),
        ("--measure", "iops.rnd-4k-rw56"),
        ("--measure", "rnd 4k rw65"),
        ("--percentile", "often"),
        ("--by", "modle"),
        ("--where", "modl = 1"),
        ("--sql", "DROP TABLE runs"),
        ("--sql", "SELECT * FROM runz"),
        ("--sql", "SELECT 1", "--by", "test"),
        ("--where", "false"),
        ("--percentile", "p99.9999999", "--measure", "lat.rnd-4k-rw0"),
    ],
    ids=" ".join,
)
def test_what_is_answered_and_refused(
    words: tuple[str, ...], archive: Path, snapshot: SnapshotAssertion
) -> None:
    ended = openpts("archive", "query", str(archive), *words, cwd=Path("/"), COLUMNS="160")
    shown = f"{ended.stdout}{ended.stderr}exit code {ended.exit_code}\n"
    for row in rows(archive):
        shown = shown.replace(row["run"], f"RUN-{row['test']}-{row['serial']}")
        shown = shown.replace(row["started_at"], "STARTED")
    # runs that began in the same second come in any order
    assert (shown if words else sorted(shown.splitlines())) == snapshot


def test_no_question_reaches_beyond_the_archive(archive: Path, tmp_path: Path) -> None:
    """It reads nothing else, writes nothing, loads nothing, and changes none of that."""
    secret, target = tmp_path / "secret.csv", tmp_path / "target"
    secret.write_text("secret\nword\n")
    before = files_of(archive)
    copy, read = f"COPY (SELECT 1) TO '{target}'", f"SELECT * FROM read_text('{secret}')"
    for option, text in (
        ("--where", f"true; {copy}"),
        ("--where", f"true) ; {copy}; SELECT (1"),
        ("--where", f"true UNION {read}"),
        ("--where", f"(SELECT count(*) FROM read_text('{secret}')) = 1"),
        ("--where", "(SELECT count(*) FROM archive) = 0"),
        ("--by", f"label.x']; {copy}; SELECT labels['x"),
        ("--by", f"test; {copy}"),
        ("--measure", f"lat'; {copy}"),
        ("--sql", copy),
        ("--sql", f"SELECT 1; {copy}"),
        ("--sql", read),
        ("--sql", f"SELECT * FROM '{secret}'"),
        ("--sql", f"SELECT * FROM read_csv('{secret}')"),
        ("--sql", f"SELECT * FROM read_csv('{tmp_path}/../{tmp_path.name}/{secret.name}')"),
        ("--sql", f"SELECT * FROM glob('{tmp_path}/*')"),
        ("--sql", "SELECT * FROM read_text('https://localhost/x')"),
        ("--sql", "SELECT * FROM statements"),  # a variable of this program
        ("--sql", f"ATTACH '{target}'"),
        ("--sql", "INSTALL httpfs"),
        ("--sql", "LOAD httpfs"),
        ("--sql", "SET enable_external_access = true"),
        ("--sql", "SET lock_configuration = false"),
        ("--sql", "PRAGMA enable_external_access"),
        ("--sql", "CALL load_aws_credentials()"),
    ):
        code, printed, error = called("query", archive, option, text)
        assert code == 2, (option, text, printed, error)
        assert "word" not in printed
    assert not target.exists()
    assert files_of(archive) == before


def test_a_folder_of_something_else_is_refused(tmp_path: Path, runs: list[Path], golden: Golden) -> None:
    code, _, error = called("add", runs[0], "--to", runs[1])
    assert code == 2
    assert error.replace(str(runs[1]), "RUN") == golden
    assert called("check", tmp_path)[0] == 2
    assert called("query", "http://server/archive")[0] == 2
