"""What the drive is for, as declared, beside what the run shows of it."""

import pytest
from msgspec.structs import replace

from openpts.record.health import TelemetryPoint
from openpts.record.reader import Run
from openpts.report.build import build_combined, build_report
from openpts.vocabulary.facts import BiosSetting, Fact, LatestFirmware, Purpose
from openpts_pages.model import Report, Table
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"
DECLARED = Purpose(
    use_case="Industrial",
    tasking="multi",
    duty_pct=20.0,
    temperature_class="industrial",
    temperature_c=(85.0, -40.0),
    rated_tbw=600.0,
    rated_dwpd=0.3,
    firmware=LatestFirmware(version="2B2QEXM7", as_of="2026-11-20", source="https://example.com"),
    bios=(
        BiosSetting(setting="C-states", value="off", default="on", effect="shorter response times"),
        BiosSetting(setting="SMT", value="off", effect="none seen"),
    ),
)


def declaring(run: Run, purpose: Purpose, firmware: str = "2B2QEXM7") -> Run:
    dut = run.manifest.dut | {"firmware": Fact(firmware, "the drive")}
    return replace(run, manifest=replace(run.manifest, purpose=purpose, dut=dut))


def box(report: Report) -> dict[str, list[tuple[str, str, str]]]:
    """Declared, measured and tone of each row."""
    rows: dict[str, list[tuple[str, str, str]]] = {}
    table = report.tables()["cover-purpose"]
    for row in table.rows:
        declared, measured = row.cells
        rows.setdefault(row.head.text, []).append((declared.text, measured.text, measured.tone))
    return rows


@pytest.fixture(scope="module")
def run() -> Run:
    return made_up_run("xsr")


def test_without_a_declaration_there_is_no_box(run) -> None:
    assert "cover-purpose" not in build_report(run, DATE).tables()


@pytest.mark.proves("SOL-GEN-03", "SOL-SYS-03", "HYP-USE-01")
def test_all_that_is_declared_is_in_the_box_beside_what_was_measured(run) -> None:
    heated = (TelemetryPoint(1, "temperature_c", 31.0), TelemetryPoint(9, "temperature_c", 72.5))
    report = build_report(replace(declaring(run, DECLARED), sampled=heated), DATE)
    tables = [block.id for block in report.back[0].blocks if isinstance(block, Table)]
    assert tables[:2] == ["cover-drive", "cover-purpose"]
    rows = box(report)
    written_tb = sum(step.sample.write.bytes for step in run.steps) / 1e12
    fills = written_tb * 1e12 / run.manifest.target.user_capacity_bytes
    assert rows["Use case"] == [("Industrial", "", "")]
    assert rows["What matters"][0][0].startswith("what a long load leaves")
    assert rows["Tasking"] == [("multi", "", "")]
    assert rows["Design target: duty"] == [("20 % of the time", "100 % of the run", "")]
    assert rows["Design target: temperatures"] == [("-40 to 85 °C", "31 to 72.5 °C", "")]
    (writes,) = rows["Design target: writes"]
    assert writes[:2] == ("600 TBW", f"{written_tb:,.3f} TB written = {100 * written_tb / 600:.0f} % of them")
    assert rows["Design target: writes a day"] == [("0.3 DWPD", f"{fills:.2f} drive writes in this run", "")]
    assert rows["Latest firmware"] == [
        ("2B2QEXM7 as of 2026-11-20, https://example.com", "the drive has it", "")
    ]
    assert [declared for declared, _, _ in rows["BIOS setting"]] == [
        "C-states off (default: on): shorter response times",
        "SMT off: none seen",
    ]


@pytest.mark.proves("SOL-DEV-01")
def test_what_is_off_target_is_marked(run) -> None:
    hot = replace(declaring(run, DECLARED, "OLD"), sampled=(TelemetryPoint(1, "temperature_c", 91.0),))
    rows = box(build_report(hot, DATE))
    assert rows["Latest firmware"][0][1:] == ("the drive has OLD", "fail")
    assert rows["Design target: temperatures"][0][1:] == ("91 to 91 °C: outside of it", "fail")
    unknown = box(build_report(declaring(run, DECLARED, ""), DATE))
    assert unknown["Latest firmware"][0][2] == unknown["Design target: temperatures"][0][2] == "missing"


def test_a_report_of_several_runs_has_one_box(run) -> None:
    both = [declaring(run, DECLARED), declaring(made_up_run("wsat"), DECLARED, "OLD")]
    rows = box(build_combined(both, DATE))
    assert len(rows["Use case"]) == 1
    assert rows["Latest firmware"][0][1:] == ("WSAT: the drive has OLD; XSR: the drive has it", "fail")


def test_a_sentence_of_the_operator_wins_over_the_known_one() -> None:
    assert Purpose().sentence == ""
    assert Purpose(use_case="logger").sentence == ""
    assert Purpose(what_matters="the year 10.").sentence == "What matters: the year 10."
    mine = Purpose(use_case="gaming", what_matters="loading")
    assert mine.sentence == "What matters for gaming: loading."
