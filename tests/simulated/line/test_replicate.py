"""The test of a passport once more, on simulated drives: its conditions and its seed."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.main import cli
from openpts.errors import OpenptsError, RecordError
from openpts.procedures.registry import procedure_of
from openpts.record.reader import read_manifest, read_run
from openpts.report.summary import summarize
from openpts.vocabulary.drive_class import DriveClass
from openpts_line.seal.statement import stated

DRIVE = "sim:enterprise-tlc?capacity=16GB&scale=8"
SHORT = ("--read-pcts", "0,100", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0", "--max-rounds", "6")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labs") / "theirs"
    words = ("--class", "client", "--precondition-passes", "1", "--step-seconds", "2", "--qd", "7")
    said("run", "iops", DRIVE, *SHORT, *words, "--seed", "36", "--no-report", "--out", folder)
    return folder


def said(*words: object) -> tuple[object, str]:
    """The exit code and what is printed; an error is raised."""
    result = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout


def test_a_run_under_the_conditions_of_a_seal_alone(theirs: Path, tmp_path: Path) -> None:
    seal = tmp_path / "seal.json"
    seal.write_bytes(stated(theirs))
    ours = tmp_path / "ours"
    code, text = said("replicate", seal, DRIVE, "--out", ours, "--no-report", "--operator", "B", "--json")
    one, other = read_manifest(theirs), read_manifest(ours)
    assert other.conditions == one.conditions
    assert (other.people.operator, other.test_id != one.test_id) == ("B", True)
    found = json.loads(text)
    # a simulated drive with the same seeds does the same again
    assert (code, found["verdict"], found["differences"]) == (0, "agrees", [])
    assert {each["e_n"] for each in found["key_values"]} == {0.0, None}


def test_a_purge_that_was_left_out_is_left_out_again(theirs: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    words = ("--precondition-passes", "1", "--step-seconds", "2", "--seed", "36", "--no-report")
    said("run", "iops", DRIVE, *SHORT, *words, "--purge", "none", "--out", first)
    said("replicate", first, DRIVE, "--no-report", "--out", again)
    assert not read_manifest(again).purges[0].ran
    code, text = said("replicate", first, theirs)
    assert code == 10
    assert "Purge method" in text


def test_figures_alone_are_no_conditions_to_run_under(theirs: Path, tmp_path: Path) -> None:
    printed = tmp_path / "run.json"
    printed.write_text(json.dumps(summarize(read_run(theirs))))
    with pytest.raises(RecordError) as refused:
        said("replicate", printed, DRIVE, "--out", tmp_path / "ours")
    assert isinstance(refused.value, OpenptsError)
    assert not (tmp_path / "ours").exists()


def test_a_program_that_a_passport_names_is_not_started(theirs: Path, tmp_path: Path) -> None:
    started, seal = tmp_path / "started", tmp_path / "seal.json"
    stating = json.loads(stated(theirs))
    (of,) = stating["predicate"]["runs"].values()
    conditions = procedure_of("powercut").standard_conditions(DriveClass.CLIENT, 0)
    of["test"] = "powercut"
    of["conditions"] = msgspec.to_builtins(replace(conditions, cut_command=f"touch {started}"))
    seal.write_bytes(msgspec.json.encode(stating, order="sorted"))
    with pytest.raises(RecordError, match="cut_command"):
        said("replicate", seal, DRIVE, "--out", tmp_path / "ours")
    assert not started.exists()
