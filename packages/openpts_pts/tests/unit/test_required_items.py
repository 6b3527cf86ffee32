"""What section 5 of the specification wants in every report, and what its header tells of the preparation."""

import msgspec
import pytest
from msgspec.structs import replace

from openpts.fields.field import fields_of
from openpts.procedures.kit.ledger import deviations
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.stimulus import AccessPattern, PatternData, ReducibleData, Segments, ZeroData
from openpts.vocabulary.verdict import TrackingVariable
from openpts_pages.model import Report, Table, Verdict
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.iops import IopsConditions
from openpts_pts.xsr import CrossStimulusConditions
from tests.support.made_up_run import made_up_run

REPORT_DATE = "2026-02-03T04:05:06Z"


@pytest.fixture(scope="module")
def run() -> Run:
    return made_up_run("iops")


@pytest.fixture(scope="module")
def report(run: Run) -> Report:
    return build_report(run, REPORT_DATE)


def row_of(table: Table, label: str) -> str:
    (found,) = [row.cells[0].text for row in table.rows if row.head.text == label]
    return found


@pytest.mark.proves("SOL-SYS-05", "LSI-RPT-01")
@pytest.mark.proves("PTS-RPT-01..25")
@pytest.mark.parametrize(
    ("table", "label", "text"),
    [
        ("general", "Test date", "2026-01-01 00:00 UTC"),
        ("general", "Report date", "2026-02-03 04:05 UTC"),
        ("general", "Test operator", "A. Operator"),
        ("general", "Auditor", "An Auditor"),
        ("general", "Specification", "SNIA SSS PTS-E 2.0.1"),
        ("hardware", "Manufacturer and model", "system"),
        ("hardware", "Motherboard", "motherboard"),
        ("hardware", "CPU", "cpu"),
        ("hardware", "Memory (DRAM)", "memory"),
        ("hardware", "Host bus adapter", "hba"),
        ("hardware", "Device interposer", "interposer"),
        ("hardware", "Primary storage", "primary_storage"),
        ("hardware", "Peripherals", "peripherals"),
        ("software", "Operating system", "operating_system"),
        ("software", "File system", "file_system"),
        ("software", "Test software", "openpts"),
        ("device", "Manufacturer", "manufacturer"),
        ("device", "Model number", "model"),
        ("device", "Serial number", "serial"),
        ("device", "Firmware revision", "firmware"),
        ("device", "User capacity", "275 GB (274,877,906,944 bytes)"),
        ("device", "Interface and speed", "interface"),
        ("device", "Form factor", "form_factor"),
        ("device", "Media type", "nand_type"),
        ("device", "Other features", "features"),
    ],
)
def test_the_set_up_page_has_each_item(report, table, label, text) -> None:
    assert row_of(report.tables()[f"setup-{table}"], label) == text


@pytest.mark.proves("PTS-RPT-11")
def test_an_item_that_nothing_shows_is_there_all_the_same(run) -> None:
    host = {key: fact for key, fact in run.manifest.host.items() if key != "interposer"}
    bare = replace(run, manifest=replace(run.manifest, host={**host, "cpu": Fact(None, "made up")}))
    hardware = build_report(bare, REPORT_DATE).tables()["setup-hardware"]
    assert row_of(hardware, "Device interposer") == row_of(hardware, "CPU") == "not reported"


@pytest.mark.proves("PTS-DAT-03")
def test_data_that_is_not_random_is_reported() -> None:
    zeros = made_up_run("iops", adjust=lambda conditions: replace(conditions, data=ZeroData()))
    report = build_report(zeros, REPORT_DATE)
    assert row_of(report.tables()["setup-parameters"], "Data pattern") == "zero bytes"


@pytest.mark.proves("PTS-IOPS-17")
def test_other_tracking_variables_are_disclosed(golden) -> None:
    other = TrackingVariable(AccessPattern.RANDOM, 8 * KIB, 65)

    def track(conditions: IopsConditions) -> IopsConditions:
        return replace(conditions, tracking=(*conditions.tracking, other))

    report = build_report(made_up_run("iops", adjust=track), REPORT_DATE)
    assert row_of(report.tables()["setup-parameters"], "Tracking variables") == golden


def texts_of(report: Report) -> str:
    return msgspec.json.encode(report).decode()


@pytest.mark.proves("PTS-DAT-03")
@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("name", PTS)  # some beyond the specification have data of their own
def test_no_page_calls_other_data_random(name) -> None:
    zeros = made_up_run(name, adjust=lambda conditions: replace(conditions, data=ZeroData()))
    report = build_report(zeros, REPORT_DATE)
    for section in report.sections:
        rows = [row for group in section.header.groups for row in group.rows]
        assert {row.value for row in rows if row.label == "Data Pattern"} == {"zero"}
    for words in ("RND, fresh", "DP=RND", "DP = RND", "Data Pattern = RND"):
        assert words not in texts_of(report)


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("name", PTS)
def test_lba_segments_are_in_the_header(name) -> None:
    segments = Segments(64, 1024 * KIB)
    run = made_up_run(name, adjust=lambda conditions: replace(conditions, segments=segments))
    for section in build_report(run, REPORT_DATE).sections:
        rows = {row.label: row.value for group in section.header.groups for row in group.rows}
        assert rows.get("AR Segments", "64 x 1.05 MB") == "64 x 1.05 MB"


@pytest.mark.proves("PTS-XSR-26")
def test_stimuli_of_other_lengths_are_reported(golden) -> None:
    def halve(conditions: CrossStimulusConditions) -> CrossStimulusConditions:
        groups = tuple(replace(group, duration_ns=group.duration_ns // 2) for group in conditions.groups)
        return replace(conditions, groups=groups)

    report = build_report(made_up_run("xsr", adjust=halve), REPORT_DATE)
    text = row_of(report.tables()["setup-parameters"], "Access groups")
    assert text == golden
    standard = PTS["xsr"].standard_conditions(DriveClass.ENTERPRISE, 1)
    entries = deviations(halve(standard), standard, PTS["xsr"].rules)
    assert [entry.rule_id for entry in entries] == ["PTS-XSR-07", "PTS-XSR-10", "PTS-XSR-13"]


@pytest.mark.proves("PTS-XSR-22")
def test_recovery_to_the_peak_waits_for_the_end_of_the_last_group(golden) -> None:
    def on_the_cover(report: Report) -> list[str]:
        return [block.text for block in report.front[0].blocks if isinstance(block, Verdict)]

    run = made_up_run("xsr")
    whole = build_report(run, REPORT_DATE)
    assert on_the_cover(whole) == golden
    killed = build_report(replace(run, steps=run.steps[:-1]), REPORT_DATE)
    assert on_the_cover(killed) == golden
    assert killed.tables()["xsr-table"].title == "Plot 12-3 - Recovery (Min): n/a"
    averages = killed.tables()["summary"].rows[:3]
    assert ["cut short" in row.cells[1].note for row in averages] == [False, False, True]


@pytest.mark.full_matrix(most=8)
@pytest.mark.parametrize("name", PROCEDURES)
def test_conditions_are_told_in_words_and_not_by_the_names_of_fields(name) -> None:
    conditions = made_up_run(name).manifest.conditions
    names = set(conditions.__struct_fields__) - {"drive_class", "write_cache_enabled", "sector_bytes"}
    names -= conditions.unused | conditions.meaningless
    labels = {name: field.label for name, field in fields_of(type(conditions)).items() if field.label}
    assert names <= set(labels)
    rows = build_report(made_up_run(name), REPORT_DATE).tables()["setup-parameters"].rows
    told = {row.head.text for row in rows}
    assert {labels[name] for name in names if getattr(conditions, name) is not None} <= told
    assert not [label for label in told if "_" in label or label.endswith((" ns", " pct"))]


def test_a_time_scale_is_told_as_the_ratio_that_was_given() -> None:
    run = made_up_run("tp", adjust=lambda conditions: replace(conditions, time_scale=1 / 300))
    table = build_report(run, REPORT_DATE).tables()["setup-parameters"]
    assert row_of(table, "Time scale") == "1/300"


@pytest.mark.proves("PTS-CBW-06")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (PatternData(bytes.fromhex("00c0ffee")), "pattern 00c0ffee again and again"),
        (ReducibleData(40, 10, 8 * KIB), "entropy 40 %, copies 10 %, in pieces of 8 KiB"),
    ],
)
def test_a_data_pattern_can_be_made_again_from_what_is_told_of_it(data, told) -> None:
    run = made_up_run("cbw", adjust=lambda conditions: replace(conditions, data=data))
    assert row_of(build_report(run, REPORT_DATE).tables()["setup-parameters"], "Data pattern") == told


@pytest.mark.parametrize(
    ("name", "said", "unsaid"),
    [
        ("iops", "All of them, in the same five Rounds.", "access C"),
        ("tp", "Writes decide", "access C"),
        ("hir", "access C is logged every 5 s", "Writes decide"),
        ("xsr", "95 % of segment 1's last hour", "best linear fit"),
        ("cbw", "Four standard errors", "95 % of segment 1's last hour"),
        ("dirth", "the lowest TOIO", "Four standard errors"),
    ],
)
def test_unclear_text_is_told_as_it_was_read_for_the_test(name, said, unsaid) -> None:
    table = build_report(made_up_run(name), REPORT_DATE).tables()["conformance-readings"]
    texts = " ".join(cell.text for row in table.rows for cell in row.cells)
    assert said in texts
    assert unsaid not in texts
