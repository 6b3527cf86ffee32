"""`openpts report` and `openpts verify`, as their user types them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openpts.cli.main import cli
from openpts.errors import RecordError, UsageError
from openpts.record.suite import Suite, SuiteEntry, SuiteState, write_suite
from openpts.report import pdf
from tests.support.synthetic_run import Synthetic, write_synthetic_run

FAST = ("--no-html", "--no-pdf")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_synthetic_run(tmp_path_factory.mktemp("run") / "one", Synthetic())


@pytest.fixture
def suite_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    for name in ("1-iops", "2-iops"):
        write_synthetic_run(folder / name, Synthetic(rounds=5, steady_round=5))
    entries = (
        SuiteEntry("iops", "IOPS", 7, "1-iops", SuiteState.COMPLETE),
        SuiteEntry("iops", "IOPS", 7, "2-iops", SuiteState.FAILED, "an I/O failed"),
        SuiteEntry("tp", "Throughput", 8, "3-tp", SuiteState.REFUSED, "no purge"),
    )
    write_suite(folder, Suite("t", "PTS-E 2.0.1", (), "2025-01-14T08:11:00+00:00", entries))
    return folder


def run_cli(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=True)


def test_the_paths_of_documents_and_data_are_told(run_folder: Path, tmp_path: Path) -> None:
    done = run_cli("report", run_folder, *FAST, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    first, second = done.output.splitlines()
    assert Path(first.removeprefix("report: ")).is_file()
    assert second.endswith("-data")
    assert len(list(Path(second.split(" in ")[1]).glob("*.csv"))) == int(second.split()[1])


def test_what_a_report_lacks_is_told_beside_its_paths(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "typst", None)
    for words in ((), ("--json",)):
        done = run_cli("report", run_folder, "--no-html", "--no-csv", *words, "--out", tmp_path)
        assert done.exit_code == 0
        assert done.stderr == "openpts: The PDF needs the package typst: pip install typst\n"
        assert "typst" not in done.stdout


def test_json_has_the_figures_of_the_run_and_the_paths(run_folder: Path, tmp_path: Path) -> None:
    done = run_cli("report", run_folder, *FAST, "--no-csv", "--json", "--out", tmp_path)
    printed = json.loads(done.output)
    assert printed["test"] == "iops"
    assert [Path(path).suffix for path in printed["reports"]] == [".json"]


def test_redacted_json_has_no_serial_number(run_folder: Path, tmp_path: Path) -> None:
    done = run_cli("report", run_folder, *FAST, "--json", "--redact", "--out", tmp_path)
    assert "REDACTED-" in done.output
    assert "SYN0000001" not in done.output


def test_a_suite_makes_one_report_of_all_its_records(suite_folder: Path) -> None:
    done = run_cli("report", suite_folder, *FAST, "--json")
    printed = json.loads(done.output)
    assert [run["test"] for run in printed["runs"]] == ["iops", "iops"]
    assert printed["reports"] == [str(suite_folder / "report.json")]
    sections = json.loads((suite_folder / "report.json").read_bytes())["sections"]
    assert [section["test"] for section in sections] == ["iops1-iops", "iops2-iops"]


def test_several_runs_want_to_know_where(run_folder: Path, suite_folder: Path) -> None:
    done = run_cli("report", run_folder, suite_folder / "1-iops")
    assert isinstance(done.exception, UsageError)
    assert "--out" in str(done.exception)


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    done = run_cli("report", tmp_path)
    assert isinstance(done.exception, RecordError)


def test_verify_finds_nothing_in_a_report_as_it_was_written(suite_folder: Path) -> None:
    run_cli("report", suite_folder, *FAST, "--no-csv")
    done = run_cli("verify", suite_folder)
    assert done.exit_code == 0, done.output
    assert "every value" in done.output


def test_verify_names_what_differs(suite_folder: Path) -> None:
    run_cli("report", suite_folder, *FAST, "--no-csv")
    path = suite_folder / "report.json"
    path.write_text(path.read_text().replace('"subtitle": "', '"subtitle": "Finest '))
    done = run_cli("verify", path)
    assert done.output.startswith("subtitle: the report has 'Finest ")
    assert isinstance(done.exception, RecordError)
    as_json = run_cli("verify", path, "--json")
    (found,) = json.loads(as_json.output)["differences"]
    assert found["place"] == "subtitle"
    assert found["stored"] == f"Finest {found['derived']}"


def test_a_short_report_stands_beside_the_full_one_and_can_be_verified(suite_folder: Path) -> None:
    run_cli("report", suite_folder, *FAST)
    full = (suite_folder / "report.json").read_bytes()
    done = run_cli("report", suite_folder, *FAST, "--style", "short")
    assert done.exit_code == 0, done.output
    assert (suite_folder / "report.json").read_bytes() == full
    assert json.loads((suite_folder / "report-short.json").read_bytes())["style"] == "short"
    assert run_cli("verify", suite_folder / "report-short.json").exit_code == 0
