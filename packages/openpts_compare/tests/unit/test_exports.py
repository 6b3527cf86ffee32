"""What leaves with a report: tables as text, checksums, a report without serial numbers, and its proof."""

import csv
import hashlib
import io
import json
import subprocess
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.escaped_text import visible_line
from openpts.record.reader import in_visible_texts, read_run
from openpts.report.build import build_report
from openpts.report.redaction import redacted
from openpts.report.sources import ReportSource, default_date
from openpts.report.write import ReportOptions, WrittenReport, write_report
from openpts.vocabulary.facts import Fact
from openpts_compare.verification import differences, read_report
from openpts_pages.csv_files import csv_files
from openpts_pages.model import Cell, Column, Report, Row, Table
from tests.support.refusals import refusal
from tests.support.report_cases import Reports

PLAIN = ReportOptions(html=False, pdf=False)


def written(reports: Reports, case: str, out: Path, options: ReportOptions = PLAIN) -> WrittenReport:
    return write_report(ReportSource.of((reports.folder(case),)), out=out, options=options)


def parsed(text: str) -> tuple[list[str], list[list[str]]]:
    """Comment lines and rows of a table's file, as Python's own reader takes them."""
    lines = text.splitlines(keepends=True)
    comments = [line for line in lines if line.startswith("# ")]
    rows = list(csv.reader(io.StringIO("".join(lines[len(comments) :])), strict=True))
    return comments, rows


@pytest.mark.parametrize("case", ["steady", "failed", "nothing", "hostile", "simulated, shortened"])
def test_every_number_of_every_table_is_in_its_file_unrounded(reports, case) -> None:
    report = reports(case)
    files = csv_files(report)
    for table in report.tables().values():
        _, (heads, *rows) = parsed(files[f"data/{table.id}.csv"])
        assert len(rows) == len(table.rows)
        assert all(len(row) == len(heads) for row in rows)
        for row, line in zip(table.rows, rows, strict=True):
            values = [cell.value for cell in (row.head, *row.cells) if cell.value is not None]
            fields = iter(line)
            assert all(any(field == repr(value) for field in fields) for value in values)


def test_the_red_line_is_in_every_file(reports) -> None:
    report = reports("simulated, shortened")
    for name, text in csv_files(report).items():
        comments, _ = parsed(text)
        assert comments[0] == f"# {report.red_line}\n", name


def test_no_field_is_a_formula(reports) -> None:
    cells = ("=1+1", "+1", "-1", "-", "@x", "\t=1", "fine", 'say "a,b"\nand more')
    table = Table(
        "t",
        "T",
        Column("Item"),
        (Column("=head"),),
        tuple(Row(Cell(text), (Cell("-5", -5.0),)) for text in cells),
    )
    report = reports("steady")
    front = (msgspec.structs.replace(report.front[0], blocks=(table,)),)
    text = csv_files(msgspec.structs.replace(report, front=front))["data/t.csv"]
    _, rows = parsed(text)
    assert rows[0] == ["Item", "'=head"]
    assert [row[0] for row in rows[1:]] == [
        "'=1+1", "'+1", "'-1", "-", "'@x", "'\t=1", "fine", 'say "a,b"\nand more',
    ]  # fmt: skip
    assert {row[1] for row in rows[1:]} == {"-5.0"}


def test_checksums_are_those_of_sha256sum(reports, tmp_path) -> None:
    files = written(reports, "steady", tmp_path)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", files.sums.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = [line.partition(":")[0] for line in done.stdout.splitlines()]
    there = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted([*listed, files.sums.name]) == sorted(there)


def test_files_elsewhere_are_named_after_drive_date_and_test(reports, tmp_path) -> None:
    files = written(reports, "steady", tmp_path)
    assert files.json.name == "SYN-1000-NVMe-1.92-TB_SYN0000001_2025-01-14_iops.json"
    assert {path.parent.name for path in files.data} == {
        "SYN-1000-NVMe-1.92-TB_SYN0000001_2025-01-14_iops-data"
    }


def test_a_hostile_name_stays_in_the_folder(reports, tmp_path) -> None:
    files = written(reports, "hostile", tmp_path / "out")
    assert all(path.resolve().is_relative_to(tmp_path / "out") for path in (*files.documents, *files.data))


# ---- redaction


def redacted_text(reports: Reports, serial: str) -> tuple[str, Report]:
    run = read_run(reports.folder("steady"))
    manifest = run.manifest
    dut = {**manifest.dut, "serial": Fact(serial, "identify")}
    named = replace(
        manifest,
        dut=dut,
        test_id=f"{serial[-4:]}-20250114T081100Z-iops",
        command_line=("run", "iops", f"/dev/disk/by-id/nvme-X_{serial}", "--confirm-serial", serial),
    )
    read = in_visible_texts(replace(run, manifest=named))
    report = redacted(build_report(read, default_date(run)), [read.manifest])
    return json.dumps(msgspec.to_builtins(report), ensure_ascii=False).replace(r"\\", "\\"), report


@pytest.mark.parametrize("stored", ["S4EVNX0R123456K", "S4EV\u202eNX0R\x1b123456K"])
def test_a_redacted_report_has_the_serial_number_nowhere(stored, reports) -> None:
    serial = visible_line(stored)
    text, report = redacted_text(reports, stored)
    digits = hashlib.sha256(serial.encode()).hexdigest()[:4]
    assert serial not in text
    assert "123456K" not in text
    assert f"{serial[-4:]}-2025" not in text
    assert f"nvme-X_REDACTED-{digits}" in text
    assert f"{digits}-20250114T081100Z-iops" in text
    assert f"REDACTED-{digits}" in report.stem
    assert report.redacted


def test_a_short_serial_number_changes_no_figure(reports) -> None:
    """The serial number 1 is in nearly every figure, but no figure is it."""
    run = read_run(reports.folder("steady"))
    plain = build_report(run, default_date(run))
    _, report = redacted_text(reports, "154")
    values = [cell.value for t in report.tables().values() for row in t.rows for cell in row.cells]
    assert values == [cell.value for t in plain.tables().values() for row in t.rows for cell in row.cells]


# ---- re-derivation


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("case", ["steady", "failed", "nothing", "not steady", "simulated"])
def test_a_stored_report_is_what_its_record_says(reports, case, tmp_path) -> None:
    files = written(reports, case, tmp_path, replace(PLAIN, paper="us-letter", redact=True))
    source = ReportSource.of((reports.folder(case),))
    assert differences(read_report(files.json), source)[0] == []


def test_a_changed_number_is_named(reports, tmp_path) -> None:
    files = written(reports, "steady", tmp_path)
    plain = json.loads(files.json.read_bytes())
    page, block, row, column = next(
        (n, m, k, j)
        for n, page in enumerate(plain["sections"][0]["pages"])
        for m, block in enumerate(page["blocks"])
        for k, row in enumerate(block.get("rows", []))
        for j, cell in enumerate(row["cells"])
        if "value" in cell
    )
    cell = plain["sections"][0]["pages"][page]["blocks"][block]["rows"][row]["cells"][column]
    before, cell["value"] = cell["value"], 4711.0
    files.json.write_text(json.dumps(plain))
    ((found,), _) = differences(read_report(files.json), ReportSource.of((reports.folder("steady"),)))
    assert found.place == f"sections[0].pages[{page}].blocks[{block}].rows[{row}].cells[{column}].value"
    assert (found.stored, found.derived) == (4711.0, before)


def test_what_is_no_report_is_one_line(tmp_path, golden) -> None:
    cases = (b"{", b"[]", b'{"schema_version": 1}', b'{"schema_version": 2}', b'{"schema_version": 3}')
    path, said = tmp_path / "report.json", []
    for content in cases:
        path.write_bytes(content)
        said.append(refusal(read_report, path))
    assert said == golden


# ---- sources


def test_several_runs_need_a_place(reports) -> None:
    with pytest.raises(UsageError, match="--out"):
        ReportSource.of((reports.folder("steady"), reports.folder("failed")))


def test_a_run_named_twice_is_refused(reports, tmp_path) -> None:
    with pytest.raises(UsageError, match="twice"):
        ReportSource.of((reports.folder("steady"), reports.folder("steady")), tmp_path)
