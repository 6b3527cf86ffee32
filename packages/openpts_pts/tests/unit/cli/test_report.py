"""`openpts report` and `openpts verify`, as their user types them."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from openpts.cli.main import cli
from openpts.errors import NoVerdictError, RecordError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.batch import write_batch
from openpts.record.manifest import Attempt, Manifest, RunState
from openpts.record.reader import read_manifest
from openpts.report.record_files import FIGURES_NAME
from openpts.report.redaction import LEFT_OUT
from openpts.vocabulary.facts import People
from tests.support import synthetic_run
from tests.support.batches import suite_entry, suite_of
from tests.support.synthetic_run import Synthetic, write_synthetic_run

FAST = ("--no-html", "--no-pdf")


def matches(verified: Result) -> bool:
    """Whether all of a made-up record is confirmed: script and ledger can't be, as it names no version."""
    return isinstance(verified.exception, NoVerdictError)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    return write_synthetic_run(tmp_path_factory.mktemp("run") / "one", Synthetic(rounds=5, steady_round=5))


@pytest.fixture
def suite_folder(tmp_path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    for name in ("1-iops", "2-iops"):
        write_synthetic_run(folder / name, Synthetic(rounds=5, steady_round=5))
    entries = (
        suite_entry("iops", "1-iops", state=RunState.COMPLETE),
        suite_entry("iops", "2-iops", state=RunState.FAILED, reason="an I/O failed"),
        suite_entry("tp", "3-tp", state=RunState.REFUSED, reason="no purge"),
    )
    write_batch(folder, suite_of(*entries))
    return folder


def run_cli(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=True)


def test_the_paths_of_documents_and_data_are_told(run_folder, tmp_path) -> None:
    done = run_cli("report", run_folder, *FAST, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    first, second = done.output.splitlines()
    assert Path(first.removeprefix("report: ")).is_file()
    assert second.endswith("-data")
    assert len(list(Path(second.split(" in ")[1]).glob("*.csv"))) == int(second.split()[1])


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--requirements",), ()])
def test_above_runs_one_of_them_is_named(whole_report, words) -> None:
    done = run_cli("verify", whole_report.parent, *words)
    assert str(done.exception).endswith(f", such as {whole_report}")


def test_json_has_the_figures_of_the_run_and_the_paths(run_folder, tmp_path) -> None:
    done = run_cli("report", run_folder, *FAST, "--no-csv", "--json", "--out", tmp_path)
    printed = json.loads(done.output)
    assert printed["test"] == "iops"
    assert [Path(path).suffix for path in printed["reports"]] == [".json"]


def test_a_run_whose_figures_are_printed_is_read_and_judged_once(run_folder, tmp_path, monkeypatch) -> None:
    judged, made = [], Procedure.report
    monkeypatch.setattr(Procedure, "report", lambda test, run: judged.append(run.folder) or made(test, run))
    done = run_cli("report", run_folder, *FAST, "--no-csv", "--json", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert judged == [run_folder]


def test_redacted_json_has_no_serial_number(run_folder, tmp_path) -> None:
    done = run_cli("report", run_folder, *FAST, "--json", "--redact", "--out", tmp_path)
    assert "REDACTED-" in done.output
    assert "SYN0000001" not in done.output


@pytest.fixture
def private_run(tmp_path, monkeypatch) -> Path:
    """A record with people, paths, a serial number and a host, whose folder names the lab."""
    made = synthetic_run._manifest
    attempt = Attempt("2025-01-14T08:11:00Z", 7, "lab-host-3", "boot", "Linux 6.12 lab", "openpts 0.1.0")
    words = ("run", "iops", "/dev/nvme9n1", "--label=site=cellar-7", "--out=lab/x", "--operator", "Jane Roe")
    people = People("Jane Roe", "Otto Auditor", "Acme Labs", {"site": "cellar-7"})

    def manifest(*given) -> Manifest:
        return replace(made(*given), people=people, attempts=(attempt,), command_line=words)

    monkeypatch.setattr(synthetic_run, "_manifest", manifest)
    return write_synthetic_run(tmp_path / "our-lab" / "one", Synthetic(rounds=5, steady_round=5))


def texts_of(folder: Path) -> dict[str, str]:
    """All files of a report as text: what is packed in the page, and what is printed in the PDF, included."""
    found = {
        path.name: path.read_text() for path in folder.rglob("*") if path.suffix in {".json", ".csv", ""}
    }
    (page,) = (path.read_text() for path in folder.glob("*.html"))
    packed = re.findall(r'id="(?:model|plots)">([^<]+)<', page)
    found["page"] = page + "".join(zlib.decompress(base64.b64decode(each)).decode() for each in packed)
    (pdf,) = folder.glob("*.pdf")
    found["pdf"] = subprocess.run(["pdftotext", pdf, "-"], check=True, capture_output=True, text=True).stdout
    return found


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext (package poppler-utils) is missing")
def test_a_report_for_a_customer_has_nothing_of_the_lab(private_run, tmp_path) -> None:
    out = tmp_path / "sent"
    done = run_cli("report", private_run, "--for-customer", "--out", out, "--json")
    assert done.exit_code == 0, done.output
    manifest = read_manifest(private_run)
    host = {fact.value for fact in manifest.host.values() if fact.value}
    people = {"Jane Roe", "Otto Auditor", "Acme Labs", "cellar-7"}
    paths = {str(private_run), "our-lab", "/dev/nvme9n1", "lab/x"}
    private = {*host, *people, *paths, "lab-host-3", "Linux 6.12 lab", manifest.dut["serial"].value}
    assert len(private) > 12
    for name, text in {**texts_of(out), "--json": done.output.replace(str(out), "")}.items():
        words = re.sub(r"\s+", " ", text)
        assert not {one for one in private if one in words}, name
    (model,) = (path for path in out.glob("*.json") if FIGURES_NAME not in path.name)
    assert LEFT_OUT in model.read_text()
    run_cli("report", private_run, *FAST, "--out", tmp_path / "own")
    (own,) = (path for path in (tmp_path / "own").glob("*.json") if FIGURES_NAME not in path.name)
    assert people - {"cellar-7"} <= {one for one in private if one in own.read_text()}


def test_a_changed_value_of_the_figures_is_found(run_folder, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    run_cli("report", run, *FAST, "--no-csv")
    figures, sums = run / FIGURES_NAME, run / "SHA256SUMS"
    before = figures.read_bytes()
    after = before.replace(b'"seed": 42', b'"seed": 43')
    figures.write_bytes(after)
    old, new = (hashlib.sha256(content).hexdigest() for content in (before, after))
    sums.write_text(sums.read_text().replace(old, new))
    done = run_cli("verify", run)
    assert done.output == "figures.json.seed: the report has 43, the record 42\n"


def test_a_suite_makes_one_report_of_all_its_records(suite_folder) -> None:
    done = run_cli("report", suite_folder, *FAST, "--json")
    printed = json.loads(done.output)
    assert [run["test"] for run in printed["runs"]] == ["iops", "iops"]
    assert printed["reports"] == [str(suite_folder / "report.json")]
    sections = json.loads((suite_folder / "report.json").read_bytes())["sections"]
    assert [section["test"] for section in sections] == ["iops1-iops", "iops2-iops"]


def test_what_is_no_run_folder_is_refused(tmp_path) -> None:
    done = run_cli("report", tmp_path)
    assert isinstance(done.exception, RecordError)


def test_verify_finds_nothing_in_a_report_as_it_was_written(suite_folder, golden) -> None:
    run_cli("report", suite_folder, *FAST, "--no-csv")
    done = run_cli("verify", suite_folder)
    assert matches(done), done.output
    assert str(done.exception) == golden


def test_verify_names_what_differs(suite_folder) -> None:
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


def test_a_short_report_stands_beside_the_full_one_and_can_be_verified(suite_folder) -> None:
    run_cli("report", suite_folder, *FAST)
    full = (suite_folder / "report.json").read_bytes()
    done = run_cli("report", suite_folder, *FAST, "--style", "short")
    assert done.exit_code == 0, done.output
    assert (suite_folder / "report.json").read_bytes() == full
    assert json.loads((suite_folder / "report-short.json").read_bytes())["style"] == "short"
    assert matches(run_cli("verify", suite_folder / "report-short.json"))


@pytest.fixture(scope="module")
def whole_report(run_folder: Path, tmp_path_factory) -> Path:
    """A run folder with all files of its report."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    shutil.copytree(run_folder, folder)
    assert run_cli("report", folder).exit_code == 0
    assert matches(run_cli("verify", folder))
    return folder


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def add_a_line(sums: Path, line: str) -> None:
    sums.write_text(sums.read_text() + line)


def drop_a_line(sums: Path, name: str) -> None:
    sums.write_text("".join(line for line in sums.read_text().splitlines(True) if name not in line))


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "HTML": (lambda run: flip_a_bit(run / "report.html"), "report.html was changed"),
    "an extra line": (
        lambda run: add_a_line(run / "SHA256SUMS", f"{'0' * 64}  data/none.csv\n"),
        "does not belong to this report: 000",
    ),
    "a line that leads elsewhere": (
        lambda run: add_a_line(run / "SHA256SUMS", f"{'0' * 64}  ../report.json\n"),
        "does not belong to this report",
    ),
    "a line less": (lambda run: drop_a_line(run / "SHA256SUMS", "html"), "report.html is not in SHA256SUMS"),
}


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(("change", "told"), FAULTS.values(), ids=FAULTS)
def test_verify_covers_the_files_of_a_report(whole_report, tmp_path, change, told) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_report, run)
    change(run)
    done = run_cli("verify", run, "--json")
    assert isinstance(done.exception, RecordError), done.output
    assert told in str(done.exception)
    assert told in json.loads(done.output)["files"][0]


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["html", "pdf", "csv"])
def test_what_a_report_leaves_out_stays_where_it_shows_the_same(whole_report, tmp_path, left_out) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_report, run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert run_cli("report", run, f"--no-{left_out}").exit_code == 0
    assert {path: path.read_bytes() for path in before if path.name != "SHA256SUMS"} == {
        path: content for path, content in before.items() if path.name != "SHA256SUMS"
    }
    assert matches(run_cli("verify", run))
    changed = next(run.rglob(f"*.{left_out}"))
    flip_a_bit(changed)
    assert changed.name in str(run_cli("verify", run).exception)


def test_what_an_earlier_report_shows_otherwise_goes(whole_report, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_report, run)
    (run / "data" / "earlier.csv").write_text("of a table that there is no more")
    checksum = hashlib.sha256((run / "data" / "earlier.csv").read_bytes()).hexdigest()
    add_a_line(run / "SHA256SUMS", f"{checksum}  data/earlier.csv\n")
    add_a_line(run / "SHA256SUMS", f"{'0' * 64}  ../precious.csv\n")
    (tmp_path / "precious.csv").write_text("precious")
    done = run_cli("report", run, *FAST, "--redact")
    assert done.exit_code == 0
    assert done.stderr == (
        "openpts: removed report.html, report.pdf, data/earlier.csv: written with an earlier report, which "
        "this one replaces\n"
    )
    assert not any((run / name).exists() for name in ("report.html", "report.pdf", "data/earlier.csv"))
    assert (tmp_path / "precious.csv").read_text() == "precious"
    assert "report.html" not in (run / "SHA256SUMS").read_text()


def test_an_earlier_file_that_was_changed_is_left_to_its_owner(whole_report, tmp_path, golden) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_report, run)
    flip_a_bit(run / "report.html")
    changed = (run / "report.html").read_bytes()
    (run / "report.pdf").unlink()
    (run / "report.pdf").symlink_to(whole_report / "report.pdf")
    assert run_cli("report", run, *FAST, "--paper", "us-letter").exit_code == 0
    assert (run / "report.html").read_bytes() == changed
    assert (run / "report.pdf").is_symlink()
    assert (whole_report / "report.pdf").is_file()
    assert str(run_cli("verify", run).exception) == golden


def test_a_file_that_was_deleted_is_not_listed_again(whole_report, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_report, run)
    (run / "report.pdf").unlink()
    assert run_cli("report", run, "--no-pdf").exit_code == 0
    assert matches(run_cli("verify", run))


def test_the_path_of_a_run_folder_need_not_be_text(run_folder, tmp_path) -> None:
    run = Path(os.fsdecode(bytes(tmp_path) + b"/run\xff"))
    shutil.copytree(run_folder, run)
    (run / "capture").mkdir()
    (run / os.fsdecode(b"capture/\xff.parquet")).write_bytes(b"PAR1")
    done = run_cli("report", run, *FAST, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["run"] == str(run)
    assert matches(run_cli("verify", run, "--json"))


def test_verify_takes_a_report_that_stands_alone(whole_report, tmp_path) -> None:
    shutil.copy(whole_report / "report.json", tmp_path)
    assert matches(run_cli("verify", tmp_path / "report.json", whole_report))


def test_verify_covers_the_files_of_a_report_under_a_name_of_its_own(run_folder, tmp_path) -> None:
    assert run_cli("report", run_folder, *FAST, "--out", tmp_path).exit_code == 0
    (report,) = tmp_path.glob("*_iops.json")
    assert matches(run_cli("verify", report, run_folder))
    changed = next(tmp_path.glob("*-data/*.csv"))
    flip_a_bit(changed)
    done = run_cli("verify", report, run_folder)
    assert isinstance(done.exception, RecordError)
    assert changed.name in str(done.exception)
