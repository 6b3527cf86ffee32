"""What every report beyond the specification has to say, and what none of them may."""

import pytest
from msgspec.structs import replace

from openpts.procedures.registry import PROCEDURES
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.build import build_combined, build_report
from openpts.vocabulary.drive_class import CACHE_DISABLED
from openpts.vocabulary.facts import HealthReading, TargetKind
from openpts.vocabulary.stimulus import DataCheck, ReducibleData
from openpts_pages.model import Page, Report, Verdict
from openpts_pts.conformance.catalogue import PTS
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"
PRACTICE = [name for name in PROCEDURES if name not in PTS]


def texts(pages: tuple[Page, ...]) -> list[str]:
    return [block.text for page in pages for block in page.blocks if isinstance(block, Verdict)]


def table(report: Report, table_id: str) -> dict[str, list[str]]:
    return {row.head.text: [cell.text for cell in row.cells] for row in report.tables()[table_id].rows}


@pytest.mark.parametrize("name", PRACTICE)
def test_none_claims_to_follow_the_specification(name) -> None:
    report = build_report(made_up_run(name), DATE)
    assert report.subtitle.endswith(" - enterprise class")
    assert report.footer.startswith("Tests that are not part of SNIA SSS PTS; not certified by SNIA")
    assert table(report, "cover-drive")["Class"] == ["enterprise class"]
    general = table(report, "setup-general")
    assert general["Specification"][0] == "none: methodology of openpts, enterprise class"
    assert table(report, "setup-parameters")["Test and class"][0] == f"{name}, enterprise class"


def test_no_red_line_measures_by_the_specification() -> None:
    run = made_up_run("fill")
    manifest = replace(run.manifest, state=RunState.INTERRUPTED)
    report = build_report(replace(run, manifest=manifest), DATE)
    assert report.red_line == "INTERRUPTED RUN - not a whole measurement"
    target = replace(manifest.target, kind=TargetKind.FILE)
    report = build_report(replace(run, manifest=replace(manifest, target=target)), DATE)
    assert report.red_line == "INTERRUPTED RUN ON A FILE - not a measurement of a raw drive"


def test_a_report_with_a_test_of_the_specification_has_its_format() -> None:
    report = build_combined((made_up_run("iops"), made_up_run("fill")), DATE)
    assert report.footer.startswith("Format of SNIA SSS PTS 2.0.1; not certified by SNIA")
    assert report.subtitle.endswith(f" - PTS-E 2.0.1 / enterprise class; IOPS: {CACHE_DISABLED}")


def with_errors(run: Run) -> Run:
    log = [HealthReading("a log", {"media_errors": errors}) for errors in (0, 2)]
    occasions = (ReadingPoint.BEFORE, ReadingPoint.AFTER)
    return replace(
        run,
        health=tuple(
            HealthRecord(at, 0, None, None, DATE, None, of) for at, of in zip(occasions, log, strict=True)
        ),
    )


def test_what_the_drive_says_against_the_run_is_on_the_cover() -> None:
    bad = with_errors(made_up_run("thermal"))
    sentence = "Device health: 2 media errors during the run."
    assert sentence in texts(build_report(bad, DATE).front[:1])
    both = build_combined((bad, made_up_run("fill")), DATE)
    assert f"THERMAL: {sentence}" in texts(both.front[:1])


@pytest.mark.proves("LSI-GEN-03")
def test_a_sample_of_reducible_data_is_on_the_set_up_page_of_any_test() -> None:
    run = made_up_run("iops")
    assert "setup-data-checks" not in build_report(run, DATE).tables()
    sampled = DataCheck(ReducibleData(46), 47.8, 100, 4_194_304, "an engine into memory; a compressor")
    told = DataCheck(ReducibleData(46), 46, 100, 0, "told to the model")
    for check, shares in ((sampled, ["47.8", "100.0", "4.19 MB"]), (told, ["n/a", "n/a", "none"])):
        checked = replace(run, manifest=replace(run.manifest, data_checks=(check,)))
        (cells,) = table(build_report(checked, DATE), "setup-data-checks").values()
        assert cells == [*shares, check.how]
