"""A run under the conditions and with the seed of another one, on simulated drives."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.main import cli
from openpts.cli.procedure_options import _chosen_like
from openpts.errors import UsageError
from openpts.parameters.overrides import Overrides
from openpts.procedures.registry import procedure_of
from openpts.record.reader import read_run
from openpts.vocabulary.drive_class import DriveClass
from tests.support.made_up_run import made_up_run
from tests.support.transcript import Golden

DRIVE = "sim:enterprise-tlc?capacity=16GB&scale=8"
SHORT = ("--read-pcts", "0,100", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0", "--max-rounds", "6")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labs") / "theirs"
    words = ("--class", "client", "--precondition-passes", "1", "--step-seconds", "2", "--qd", "7")
    said("run", "iops", DRIVE, *SHORT, *words, "--seed", "36", "--no-report", "--out", folder)
    return folder


def said(*words: object) -> str:
    """What is printed; an error is raised."""
    result = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_a_run_like_another_is_the_same_run(theirs: Path, tmp_path: Path) -> None:
    said("run", "iops", DRIVE, "--like", theirs, "--out", tmp_path / "ours", "--no-report")
    one, other = read_run(theirs), read_run(tmp_path / "ours")
    assert other.manifest.conditions == one.manifest.conditions
    assert (other.manifest.ordered is not None, other.manifest.shortened) == (True, one.manifest.shortened)
    # a simulated drive with the same seeds does the same again
    assert [step.sample.ios for step in other.steps] == [step.sample.ios for step in one.steps]
    assert other.ledger == one.ledger


def test_options_on_the_line_override_and_are_in_the_ledger(
    theirs: Path, tmp_path: Path, golden: Golden
) -> None:
    words = ("--like", theirs, "--qd", "9", "--seed", "5", "--no-report", "--out", tmp_path / "ours")
    assert said("run", "iops", DRIVE, *words).splitlines()[0].partition("-iops-")[2][7:] == golden
    one, other = read_run(theirs), read_run(tmp_path / "ours")
    assert other.manifest.conditions == replace(one.manifest.conditions, qd=9, seed=5)
    changed = {entry.used for entry in other.ledger} - {entry.used for entry in one.ledger}
    assert any("9" in used for used in changed)


def test_a_plan_takes_it_as_well(theirs: Path) -> None:
    assert "QD 7" in said("plan", "iops", DRIVE, "--like", theirs, "--steps")


@pytest.mark.parametrize(
    "words",
    [
        ("lat", "--like", "RUN"),
        ("iops", "--like", "RUN", "--quick"),
        ("iops", "--like", "RUN", "--class", "client"),
        ("iops", "--like", "RUN", "--time-scale", "1/2"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_with_it_is_refused(words: tuple[str, ...], theirs: Path, golden: Golden) -> None:
    with pytest.raises(UsageError) as refused:
        said("run", words[0], DRIVE, *(theirs if word == "RUN" else word for word in words[1:]))
    assert str(refused.value).replace(str(theirs), "RUN") == golden


def test_a_program_that_another_lab_has_named_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    test = procedure_of("powercut")
    conditions = replace(test.standard_conditions(DriveClass.CLIENT, 0), cut_command="touch started")
    manifest = replace(made_up_run("precon").manifest, conditions=conditions)
    monkeypatch.setattr("openpts.record.reader.read_manifest", lambda _: manifest)
    with pytest.raises(UsageError, match="cut_command"):
        _chosen_like(test, tmp_path, Overrides(), None)
    own = Overrides({"cut_command": "mine"}, {"cut_command": "--cut-command"})
    assert _chosen_like(test, tmp_path, own, None).overrides == own
