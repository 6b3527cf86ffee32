"""Exports of finished runs, held against fio itself, fio-plot, the record, and the rules of JUnit."""

import csv
import io
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from docs.schema_files import TABLES
from openpts.cli.main import cli
from openpts.errors import RecordError, UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.record.batch import write_batch
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.report.sources import read_for_report
from openpts.runner.run import run_test
from openpts.vocabulary.facts import People
from openpts_compare.gate.export_files import CaseOutcome, JunitCase, junit_xml
from tests import DATA
from tests.support.batches import suite_entry, suite_of
from tests.support.killed_run import ordered
from tests.support.stream_runs import measured, stored
from tests.support.synthetic_run import Synthetic, write_synthetic_run

FROZEN = DATA / "interfaces"
_MOST_KEYS = 20
LOGS = ("bw", "iops", "lat")
LABELS = {"lot": "7", "ticket": "=QA-12"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = replace(ordered("lat", tmp_path_factory.mktemp("run") / "run"), people=People(labels=LABELS))
    return run_test(PROCEDURES["lat"], settings, []).folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return read_for_report(folder)


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("streams") / "run", measured())


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suites") / "suite"
    folder.mkdir()
    kinds = {
        "1-iops": (Synthetic(rounds=5, steady_round=5), RunState.COMPLETE, None),
        "2-iops": (
            Synthetic(rounds=6, steady_round=None, drift=0.028, max_rounds=6),
            RunState.COMPLETE,
            None,
        ),
        "3-iops": (
            Synthetic(rounds=2, steady_round=None, state=RunState.FAILED, state_reason="an <I/O> failed"),
            RunState.FAILED,
            "an <I/O> failed",
        ),
        "4-iops": (
            Synthetic(rounds=2, steady_round=None, state=RunState.INTERRUPTED),
            RunState.INTERRUPTED,
            None,
        ),
    }
    for name, (wanted, _, _) in kinds.items():
        write_synthetic_run(folder / name, wanted)
    entries = [
        suite_entry("iops", name, state=state, reason=reason) for name, (_, state, reason) in kinds.items()
    ]
    entries += [
        suite_entry("tp", "5-tp", state=RunState.REFUSED, reason="no purge"),
        suite_entry("lat", "6-lat"),
    ]
    write_batch(folder, suite_of(*entries))
    return folder


def export(*words: str | Path) -> Result:
    result = CliRunner().invoke(cli, ["export", *(str(word) for word in words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fio_outputs(folder: Path, to: Path) -> list[tuple[Path, dict[str, Any]]]:
    export(folder, "--fio-json", to)
    return [(path, json.loads(path.read_text())) for path in sorted(to.rglob("*.json"))]


def of_fio(folder: Path) -> dict[str, Any]:
    """What fio itself writes, with percentiles and bins of ``lat``, and with syncs."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    words = "--name=a --ioengine=psync --filename=file --rw=randrw --bs=4k --size=1M --fsync=4 --rwmixread=50"
    measures = "--lat_percentiles=1 --clat_percentiles=0"
    logs = "--write_bw_log=l --write_iops_log=l --write_lat_log=l"
    command = ["fio", *words.split(), *measures.split(), *logs.split(), "--output-format=json+"]
    subprocess.run([*command, "--output=fio.json"], cwd=folder, check=True)
    (folder / "globals.fio").write_text("[global]\nioengine=null\nsize=1M\n[a]\nrw=read\n")
    globals_ = subprocess.run(
        ["fio", "--output-format=json", "globals.fio"], cwd=folder, check=True, capture_output=True
    )
    found: dict[str, Any] = json.loads((folder / "fio.json").read_text())
    return found | {"global options": json.loads(globals_.stdout)["global options"]}


def hold_against(ours: Any, fios: Any, where: str = "") -> None:
    """Every key of ours is one of fio's, with the same type; names and numbers as keys with the same kind."""
    assert type(ours) is type(fios), where
    if isinstance(ours, list):
        for one in ours:
            hold_against(one, fios[0], where)
    if isinstance(ours, dict):
        free = where.endswith(("/percentile", "/bins", " options"))
        kind = re.sub(r"[0-9]+", "0", next(iter(fios), "")) if free and "options" not in where else ""
        for key, value in list(ours.items())[: _MOST_KEYS if free else None]:
            assert free or key in fios, f"{where}/{key}"
            assert not kind or re.sub(r"[0-9]+", "0", key) == kind, f"{where}/{key}"
            hold_against(value, fios[next(iter(fios))] if free else fios[key], f"{where}/{key}")


def check_fio_outputs(folder: Path, to: Path) -> None:
    """Files of each step with I/O, with keys, types and log lines as fio has them."""
    fios = of_fio(to)
    fios["jobs"][0]["trim"] = fios["jobs"][0]["read"]  # an example with values
    fields = {kind: (to / f"l_{kind}.1.log").read_text().split("\n")[0].count(", ") for kind in LOGS}
    outputs = fio_outputs(folder, to / "fio")
    assert len(outputs) == sum(not step.sample.step.is_idle for step in read_run(folder).steps)
    for path, output in outputs:
        hold_against(output, fios)
        assert output["fio version"].startswith("fio-3.")
        assert "SIMULATED" in output["fio version"]
        for kind in LOGS:
            for number in range(1, 1 + len(output["jobs"])):
                lines = path.with_name(f"{path.stem}_{kind}.{number}.log").read_text().splitlines()
                assert {line.count(", ") for line in lines} <= {fields[kind]}


def check_other_forms(folder: Path, to: Path) -> None:
    """A row, tables with the declared columns, and valid JUnit XML."""
    export(folder, "--csv-row", to / "row.csv", "--parquet", to / "tables", "--junit", to / "junit.xml")
    (row,) = rows((to / "row.csv").read_text())
    assert "SIMULATED" in row["mark"]
    for name, columns in json.loads(TABLES.read_text())["tables"].items():
        table = duckdb.read_parquet(f"{to}/tables/{name}/*")
        assert dict(zip(table.columns, map(str, table.types), strict=True)) == columns
    assert len(valid_junit((to / "junit.xml").read_bytes())) == 1


def test_all_forms_of_several_streams_are_valid(streams: Path, tmp_path: Path) -> None:
    check_fio_outputs(streams, tmp_path)
    check_other_forms(streams, tmp_path)


@pytest.mark.slow
def test_fio_takes_the_options_of_each_job(streams: Path, folder: Path, tmp_path: Path) -> None:
    of_fio(tmp_path)
    found: set[tuple[str, ...]] = set()
    for one in (folder, streams):
        for _, output in fio_outputs(one, tmp_path / one.parent.name):
            for job in output["jobs"]:
                options = {**output["global options"], **job["job options"], "filename": "nothing"}
                del options["name"], options["description"]
                found.add(tuple(f"--{name}={value}" for name, value in options.items()))
    assert len(found) > 5
    for words in found:
        subprocess.run(["fio", "--parse-only", "--name=a", *words], check=True, cwd=tmp_path)


def test_figures_are_those_of_the_record(run: Run, folder: Path, tmp_path: Path) -> None:
    outputs = [output for _, output in fio_outputs(folder, tmp_path)]
    steps = [step.sample for step in run.steps if not step.sample.step.is_idle]
    assert len(outputs) == len(steps)
    for name in ("read", "write"):
        jobs = [output["jobs"][0][name] for output in outputs]
        samples = [sample.operations[name] for sample in steps]
        assert sorted(job["total_ios"] for job in jobs) == sorted(sample.ios for sample in samples)
        assert sorted(job["io_bytes"] for job in jobs) == sorted(sample.bytes for sample in samples)
        for job in jobs:
            lat = job["lat_ns"]
            assert lat["N"] == job["total_ios"]
            if not job["total_ios"]:
                continue
            values = np.repeat([int(bin_ns) for bin_ns in lat["bins"]], list(lat["bins"].values()))
            assert len(values) == lat["N"]
            assert values.mean() == pytest.approx(lat["mean"], rel=0.001)
            if len(values) > 1:
                assert values.std(ddof=1) == pytest.approx(lat["stddev"], rel=0.01)
            for percentile, value_ns in lat["percentile"].items():
                rank = math.ceil(len(values) * float(percentile) / 100)
                assert values[rank - 1] == pytest.approx(value_ns, rel=0.001)
                assert len(values) * (100 - float(percentile)) / 100 >= 0.999
    for output in outputs:
        job = output["jobs"][0]
        shares = [share for unit in ("ns", "us", "ms") for share in job[f"latency_{unit}"].values()]
        assert sum(shares) == pytest.approx(100)


def test_streams_are_jobs_that_add_up_to_the_step(streams: Path, tmp_path: Path) -> None:
    beside = next(output for _, output in fio_outputs(streams, tmp_path) if len(output["jobs"]) == 3)
    step = read_run(streams).steps[0].sample
    assert [job["jobname"] for job in beside["jobs"]] == ["reader", "writer", "trimmer"]
    for name in ("read", "write", "trim"):
        assert sum(job[name]["total_ios"] for job in beside["jobs"]) == step.operations[name].ios
    assert sum(job["sync"]["total_ios"] for job in beside["jobs"]) == step.flush.ios


@pytest.mark.slow
@pytest.mark.parametrize("words", ["-l", "-g -t lat", "-H"])
def test_fio_plot_draws(folder: Path, tmp_path: Path, words: str) -> None:
    pytest.importorskip("fio_plot")
    path, output = next(one for one in fio_outputs(folder, tmp_path) if one[0].name.startswith("randread"))
    options = output["jobs"][0]["job options"]
    given = f"-T t -r randread -d {options['iodepth']} -n {options['numjobs']} {words}"
    program = "import matplotlib; matplotlib.use('Agg'); import fio_plot; fio_plot.main()"
    subprocess.run(
        [sys.executable, "-c", program, "-i", path.parent, "-o", tmp_path / "chart.png", *given.split()],
        check=True,
        cwd=tmp_path,
    )
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_fio_plot_reads_the_figures(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("fio_plot")
    from fio_plot.fiolib import jsonimport, jsonparsing  # noqa: PLC0415 developers alone have it

    path, output = next(one for one in fio_outputs(folder, tmp_path) if one[0].name.startswith("randread"))
    job = output["jobs"][0]
    settings = {
        "input_directory": [str(path.parent)],
        "rw": "randread",
        "filter": ["read"],
        "iodepth": [int(job["job options"]["iodepth"])],
        "numjobs": [int(job["job options"]["numjobs"])],
    }
    found = jsonimport.import_json_dataset(settings, jsonimport.list_json_files(settings))
    (row,) = jsonparsing.parse_json_data(settings, found)[0]["data"]
    assert (row["iops"], row["lat"]) == (job["read"]["iops"], job["read"]["lat_ns"]["mean"])


def rows(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written)))


def test_a_row_has_labels_and_measures_by_key(run: Run, folder: Path) -> None:
    (row,) = rows(export(folder, "--csv-row", "-").stdout)
    assert (row["label.lot"], row["label.ticket"]) == ("7", "'=QA-12")
    assert (row["test"], row["state"], row["conformant"]) == ("lat", "complete", "no")
    assert "SIMULATED" in row["mark"]
    found = PROCEDURES["lat"].report(run).measures
    assert found
    for one in found:
        unit = f" ({one.unit})" if one.unit else ""
        value = "" if one.value is None or one.stands_in else repr(one.value)
        assert row[f"lat.{one.key}{unit}"] == value


def test_several_runs_share_their_columns(folder: Path, suite: Path, tmp_path: Path) -> None:
    export(suite, folder, "--csv-row", tmp_path / "rows.csv")
    found = rows((tmp_path / "rows.csv").read_text())
    assert [row["test"] for row in found] == ["iops"] * 4 + ["lat"]
    assert [row["steady"] for row in found] == ["yes", "no", "", "", found[4]["steady"]]
    assert found[3]["mark"].startswith("INTERRUPTED")
    columns = list(found[0])
    assert columns.index("label.lot") < min(n for n, name in enumerate(columns) if name.startswith("iops."))
    assert all(not row["label.lot"] for row in found[:4])
    bare = export(suite, folder, "--csv-row", "-", "--no-header").stdout
    assert bare == (tmp_path / "rows.csv").read_text().split("\n", 1)[1]


def valid_junit(xml: bytes) -> dict[str, tuple[str, str]]:
    """What became of each test case, and why, of XML that is valid."""
    xmlschema = pytest.importorskip("xmlschema")
    xmlschema.XMLSchema(FROZEN / "junit.xsd").validate(xml.decode())
    junitparser = pytest.importorskip("junitparser")
    (found,) = junitparser.JUnitXml.fromstring(xml)
    return {
        f"{number} {case.classname}": (type(case.result[0]).__name__, case.result[0].message)
        if case.result
        else ("Passed", "")
        for number, case in enumerate(found, 1)
    }


def test_a_suite_has_a_case_for_each_test(suite: Path, tmp_path: Path) -> None:
    export(suite, "--junit", tmp_path / "junit.xml")
    assert valid_junit((tmp_path / "junit.xml").read_bytes()) == {
        "1 openpts.iops": ("Passed", ""),
        "2 openpts.iops": ("Skipped", "no verdict, steady state not reached in 6 rounds"),
        "3 openpts.iops": ("Error", "failed: an <I/O> failed"),
        "4 openpts.iops": ("Error", "interrupted: no reason is recorded"),
        "5 openpts.tp": ("Error", "no purge"),
        "6 openpts.lat": ("Skipped", "the suite ended before it"),
    }


def test_a_failed_limit_is_a_failure(tmp_path: Path) -> None:
    cases = [
        JunitCase("rnd_4_kib_rw0.iops", "openpts.gate", 0.0, CaseOutcome.FAILED, "170,000 < 180,000 & so on"),
        JunitCase("conformant", "openpts.gate", 12345.6789, CaseOutcome.PASSED, output="<ok>"),
    ]
    assert valid_junit(junit_xml("gate", cases, {})) == {
        "1 openpts.gate": ("Failure", "170,000 < 180,000 & so on"),
        "2 openpts.gate": ("Passed", ""),
    }


def test_no_export_has_a_serial_number_that_is_redacted(suite: Path, tmp_path: Path) -> None:
    run = suite / "3-iops"
    serial = read_run(run).manifest.dut["serial"].value
    assert serial is not None
    assert serial in export(run, "--csv-row", "-").stdout
    words = (
        "--csv-row",
        tmp_path / "row.csv",
        "--junit",
        tmp_path / "j.xml",
        "--parquet",
        tmp_path / "tables",
    )
    export(run, *words, "--fio-json", tmp_path / "fio", "--redact")
    written = [path.read_text() for path in (*tmp_path.glob("fio/**/*.json"), *tmp_path.glob("*.*"))]
    written += [str(path) for path in tmp_path.glob("fio/*")]
    parts = [*(tmp_path / "tables").glob("*/*")]
    written += [str(path) for path in parts]
    written += [str(duckdb.read_parquet(str(path)).fetchall()) for path in parts]
    assert len(written) > 50
    assert not [text for text in written if serial in text]
    assert "REDACTED-" in (tmp_path / "row.csv").read_text()


def test_what_cannot_be_exported_says_why(folder: Path, suite: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to export: name --fio-json"):
        export(folder)
    with pytest.raises(UsageError, match="named twice"):
        export(folder, folder, "--csv-row", "-")
    for form in ("--csv-row", "--junit", "--parquet", "--fio-json"):
        with pytest.raises(RecordError, match="is not a run folder"):
            export(tmp_path, form, tmp_path / "out")
    export(folder, "--fio-json", tmp_path / "fio")
    with pytest.raises(UsageError, match="it is not empty"):
        export(folder, "--fio-json", tmp_path / "fio")
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="can't write the export into"):
        export(folder, "--parquet", tmp_path / "file/below")
