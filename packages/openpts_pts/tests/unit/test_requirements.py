"""`openpts verify --requirements`: what it prints of a run folder."""

import io
import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.errors import RecordError, UsageError
from openpts.record.batch import write_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.record.writer import DATABASE_NAME
from openpts.vocabulary.run_request import RunRequest
from openpts.vocabulary.verdict import Deviation
from openpts_batch.side_by_side import new_batch
from openpts_compare.cli.verify import verify
from openpts_pts.conformance.catalogue import catalogue
from openpts_pts.conformance.conformance import conformance_of, count_line
from openpts_pts.conformance.requirements import ConformanceDocument, print_conformance
from tests.support.batches import suite_entry, suite_of
from tests.support.made_up_run import made_up_run
from tests.support.synthetic_run import Synthetic, write_synthetic_run

SHORTER = Deviation("PTS-IOPS-14", "7.2", "1 min 0 s per step", "2.00 s per step", "caches weigh more")
FIVE_ROUNDS = partial(Synthetic, rounds=5, steady_round=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_synthetic_run(tmp_path_factory.mktemp("runs") / "run", FIVE_ROUNDS(deviations=(SHORTER,)))


def invoke(*words: str) -> str:
    result = CliRunner().invoke(verify, [*words, "--requirements"], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_all_that_binds_the_run_is_printed_by_section_with_the_counts(folder) -> None:
    text = invoke(str(folder), "-v")
    everything = conformance_of(read_run(folder))
    assert count_line(everything) in text
    for each in everything:
        assert (each.requirement.id in text) == (each.status != "not applicable"), each.requirement.id
    assert text.index("IOPS (section 7)") > text.index("All tests (sections 1 to 4)")


def test_a_deviation_shows_both_values(folder, golden) -> None:
    (line,) = [line for line in invoke(str(folder), "-v").splitlines() if line.startswith("PTS-IOPS-14")]
    assert line == golden


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("--only", "deviated"), {"PTS-IOPS-14"}), (("--only", "deviated", "--level", "should"), set())],
)
def test_rows_can_be_chosen(folder, words, expected) -> None:
    printed = json.loads(invoke(str(folder), "--json", *words))
    assert {row["id"] for row in printed["requirements"]} == expected


def test_json_counts_everything_whatever_is_shown(folder) -> None:
    printed = json.loads(invoke(str(folder), "--json", "--only", "met", "--level", "may"))
    assert {row["status"] for row in printed["requirements"]} == {"met"}
    assert {row["level"] for row in printed["requirements"]} == {"may"}
    assert sum(count for levels in printed["counts"].values() for count in levels.values()) == len(
        catalogue()
    )


def test_what_is_built_in_names_its_tests_and_is_no_part_of_what_is_met(folder) -> None:
    printed = json.loads(invoke(str(folder), "--json", "--only", "built-in"))
    assert all(
        row["tests"] and row["tests"][0].startswith(("packages/", "tests/", "rust/"))
        for row in printed["requirements"]
    )
    assert len(printed["requirements"]) == sum(printed["counts"]["built in"].values())
    (line,) = [line for line in invoke(str(folder)).splitlines() if "checked on the record are met" in line]
    met, broken = (printed["counts"][status]["shall"] for status in ("met", "deviated"))
    assert line.startswith(f"{met} of {met + broken} shall-requirements")


def test_every_requirement_comes_when_all_are_asked_for(folder) -> None:
    statuses = ("met", "deviated", "built-in", "not-verifiable", "not-reached", "not-applicable")
    words = [word for status in statuses for word in ("--only", status)]
    printed = json.loads(invoke(str(folder), "--json", *words))
    assert [row["id"] for row in printed["requirements"]] == [each.id for each in catalogue()]


def test_hostile_text_of_a_record_stays_text(tmp_path) -> None:
    hostile = str(write_synthetic_run(tmp_path / "run", FIVE_ROUNDS(hostile=True)))
    text = invoke(hostile) + invoke(hostile, "-v")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_verdict_is_first_and_then_what_deviates_in_ten_lines(tmp_path) -> None:
    rules = [replace(SHORTER, rule_id=f"PTS-IOPS-{number:02}") for number in range(1, 15)]
    folder = write_synthetic_run(tmp_path / "run", FIVE_ROUNDS(deviations=tuple(rules)))
    title, verdict, *lines = invoke(str(folder)).splitlines()
    assert title.endswith("IOPS after PTS-E 2.0.1")
    assert verdict == count_line(conformance_of(read_run(folder)))
    assert [len(lines) <= 8, all(": required " in line for line in lines[:-1])] == [True, True]
    assert lines[-1].endswith("more deviate; -v lists all requirements")


def test_what_is_no_run_folder_is_refused(tmp_path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        CliRunner().invoke(verify, [str(tmp_path), "--requirements"], catch_exceptions=False)


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


def test_a_guide_is_shown_by_itself(folder) -> None:
    text = invoke(str(folder), "--guide", "tkperf")
    assert "TKP-SS-02" in text
    assert "PTS-IOPS" not in text
    printed = json.loads(invoke(str(folder), "--guide", "tkperf", "--json", "--only", "met"))
    assert (printed["guide"], {row["status"] for row in printed["requirements"]}) == ("tkperf", {"met"})


@pytest.fixture
def batch(tmp_path) -> Path:
    """Two runs, of which the second deviates, and a drive that was refused."""
    batch = new_batch([RunRequest(run_id=name, test_words=("iops",), target=f"sim:{name}") for name in "abc"])
    write_synthetic_run(tmp_path / "batch" / batch.entries[0].folder, FIVE_ROUNDS())
    write_synthetic_run(tmp_path / "batch" / batch.entries[1].folder, FIVE_ROUNDS(deviations=(SHORTER,)))
    write_batch(tmp_path / "batch", batch)
    return tmp_path / "batch"


def test_a_batch_is_all_of_its_runs(batch) -> None:
    printed = json.loads(invoke(str(batch), "--json", "--only", "deviated"))
    assert printed["schema"] == "openpts.conformance-runs/1"
    rows = [[row["id"] for row in run["requirements"]] for run in printed["runs"]]
    assert rows == [[], ["PTS-IOPS-14"]]
    assert printed["runs"][0] == json.loads(invoke(str(batch / "1-a"), "--json", "--only", "deviated"))
    alone = [invoke(str(batch / name)) for name in ("1-a", "2-b")]
    assert invoke(str(batch)) == "\n".join(alone)
    guided = json.loads(invoke(str(batch), "--json", "--guide", "tkperf"))["runs"]
    assert [run["guide"] for run in guided] == ["tkperf", "tkperf"]


def test_a_suite_is_all_of_its_runs(tmp_path) -> None:
    entries = [suite_entry("iops", f"{n}-iops", state=RunState.COMPLETE) for n in (1, 2)]
    for entry in entries:
        write_synthetic_run(tmp_path / "suite" / entry.folder, FIVE_ROUNDS())
    write_batch(tmp_path / "suite", suite_of(*entries))
    assert len(json.loads(invoke(str(tmp_path / "suite"), "--json"))["runs"]) == 2


@pytest.mark.parametrize("as_json", [True, False])
def test_a_run_of_a_batch_that_can_t_be_read_takes_no_other_with_it(batch, as_json) -> None:
    (batch / "1-a" / DATABASE_NAME).write_bytes(b"x" * 4096)
    words = [str(batch), "--requirements", *["--json"] * as_json]
    done = CliRunner().invoke(verify, words)
    assert isinstance(done.exception, RecordError)
    assert done.exception.exit_code == 8
    assert str(done.exception).startswith(f"1 of 2 runs of {batch} can't be judged: ")
    if as_json:
        printed = json.loads(done.stdout)
        assert [run["schema"] for run in printed["runs"]] == ["openpts.error/1", "openpts.conformance/1"]
        assert str(batch / "1-a") in printed["runs"][0]["error"]
        assert (printed["exit_code"], printed["error"]) == (8, str(done.exception))
    else:
        assert "PTS-IOPS-14" in done.stdout


@pytest.mark.parametrize("words", [("--only", "met"), ("--level", "may"), ("--requirements", "another-run")])
def test_words_that_belong_to_the_other_half_are_refused(folder, words) -> None:
    with pytest.raises(UsageError, match="--requirements"):
        CliRunner().invoke(verify, [str(folder), *words], catch_exceptions=False)
