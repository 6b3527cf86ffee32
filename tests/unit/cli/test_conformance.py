"""`openpts conformance`: what it prints of a run folder."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.cli.conformance import ConformanceDocument, conformance_command, print_conformance
from openpts.conformance.catalogue import catalogue
from openpts.conformance.conformance import conformance_of, count_line
from openpts.errors import RecordError
from openpts.record.reader import read_run
from openpts.vocabulary.deviation import Deviation
from tests.support.made_up_run import made_up_run
from tests.support.synthetic_run import Synthetic, write_synthetic_run

SHORTER = Deviation("PTS-IOPS-14", "7.2", "1 min 0 s per step", "2.00 s per step", "caches weigh more")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_synthetic_run(tmp_path_factory.mktemp("runs") / "run", Synthetic(deviations=(SHORTER,)))


def invoke(*words: str) -> str:
    result = CliRunner().invoke(conformance_command, words, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_all_that_binds_the_run_is_printed_by_section_with_the_counts(folder: Path) -> None:
    text = invoke(str(folder))
    everything = conformance_of(read_run(folder))
    assert count_line(everything) in text
    for each in everything:
        assert (each.requirement.id in text) == (each.status != "not applicable"), each.requirement.id
    assert text.index("IOPS (section 7)") > text.index("All tests (sections 1 to 4)")


def test_a_deviation_shows_both_values(folder: Path) -> None:
    (line,) = [line for line in invoke(str(folder)).splitlines() if line.startswith("PTS-IOPS-14")]
    assert "required 1 min 0 s per step; used 2.00 s per step" in line


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--only", "deviated"), {"PTS-IOPS-14"}),
        (("--only", "deviated", "--level", "should"), set()),
    ],
)
def test_rows_can_be_chosen(folder: Path, words: tuple[str, ...], expected: set[str]) -> None:
    printed = json.loads(invoke(str(folder), "--json", *words))
    assert {row["id"] for row in printed["requirements"]} == expected


def test_json_counts_everything_whatever_is_shown(folder: Path) -> None:
    printed = json.loads(invoke(str(folder), "--json", "--only", "met", "--level", "may"))
    assert {row["status"] for row in printed["requirements"]} == {"met"}
    assert {row["level"] for row in printed["requirements"]} == {"may"}
    assert sum(count for levels in printed["counts"].values() for count in levels.values()) == len(
        catalogue()
    )


def test_what_is_built_in_names_its_tests_and_is_no_part_of_what_is_met(folder: Path) -> None:
    printed = json.loads(invoke(str(folder), "--json", "--only", "built-in"))
    assert all(
        row["tests"] and row["tests"][0].startswith(("tests/", "rust/")) for row in printed["requirements"]
    )
    assert len(printed["requirements"]) == sum(printed["counts"]["built in"].values())
    (line,) = [line for line in invoke(str(folder)).splitlines() if "checked on the record are met" in line]
    met, broken = (printed["counts"][status]["shall"] for status in ("met", "deviated"))
    assert line.startswith(f"{met} of {met + broken} shall-requirements")


def test_every_requirement_comes_when_all_are_asked_for(folder: Path) -> None:
    statuses = ("met", "deviated", "built-in", "not-verifiable", "not-reached", "not-applicable")
    words = [word for status in statuses for word in ("--only", status)]
    printed = json.loads(invoke(str(folder), "--json", *words))
    assert [row["id"] for row in printed["requirements"]] == [each.id for each in catalogue()]


def test_hostile_text_of_a_record_stays_text(tmp_path: Path) -> None:
    text = invoke(str(write_synthetic_run(tmp_path / "run", Synthetic(hostile=True))))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        CliRunner().invoke(conformance_command, [str(tmp_path)], catch_exceptions=False)


def test_no_count_is_made_of_a_test_beyond_the_specification() -> None:
    run = made_up_run("precon")
    everything = conformance_of(run)
    printed = io.StringIO()
    print_conformance(printed, run.manifest, everything, ())
    assert printed.getvalue() == (
        "MADE-UP: PRECON is not part of the specification: no requirement binds it, and nothing in it can be "
        "conformant\n"
    )
    assert ConformanceDocument.by(run.manifest, everything, ()).revision is None


def test_a_guide_is_shown_by_itself(folder: Path) -> None:
    text = invoke(str(folder), "--guide", "tkperf")
    assert "TKP-SS-02" in text
    assert "PTS-IOPS" not in text
    printed = json.loads(invoke(str(folder), "--guide", "tkperf", "--json", "--only", "met"))
    assert (printed["guide"], {row["status"] for row in printed["requirements"]}) == ("tkperf", {"met"})
