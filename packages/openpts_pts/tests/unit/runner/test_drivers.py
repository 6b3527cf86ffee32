"""What tests bring for their runs: the drivers that their procedures name."""

import sys
from subprocess import run

import pytest
from msgspec.structs import replace

from openpts.procedures.registry import PROCEDURES
from openpts.runner.driver import driver_of
from openpts.runner.replay import ResumePoint
from openpts.vocabulary.command_run import CommandRequest, CommandRun, PrepareFileSystem, RunKind
from tests.support.record_parts import manifest

PROGRAM = CommandRun(RunKind.WARM, 2, 1, "", 10**9, 0)
ORDER = CommandRequest(RunKind.WARM, 2, ("true",))


def test_of_a_program_s_runs_the_last_that_stands_is_the_answer() -> None:
    again, failed = replace(PROGRAM, attempt=2), replace(PROGRAM, failure="ended with exit status 1")
    other = replace(PROGRAM, number=3)
    record = replace(manifest(), command_runs=(PROGRAM, again, failed, other))
    driver = driver_of(PROCEDURES["app"])
    assert driver.recorded(ORDER, record)[-1] == again
    assert not driver.recorded(ORDER, replace(record, command_runs=(failed,)))
    assert not driver.recorded(replace(ORDER, application="build"), record)
    assert not driver.recorded(PrepareFileSystem(None), record)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("test", "accepted", "goes_on"),
    [
        ("iops", False, ResumePoint.CYCLE),
        ("iops", True, ResumePoint.PHASE),
        ("lifetime", False, ResumePoint.PHASE),
        ("app", False, ResumePoint.PROGRAM),
    ],
)
def test_where_a_run_goes_on(test, accepted, goes_on) -> None:
    assert driver_of(PROCEDURES[test]).goes_on(accepted=accepted) is goes_on


def test_a_run_of_steps_and_the_help_of_any_load_no_other_driver() -> None:
    program = (
        "import sys; from click.testing import CliRunner; from openpts.cli.main import cli\n"
        "for words in (['run', 'app', '--help'], ['plan', 'iops', 'sim:client-qlc', '--quick']):\n"
        "    assert CliRunner().invoke(cli, words).exit_code == 0\n"
        "print([name for name in sys.modules if name.startswith('openpts_app.drivers')])"
    )
    assert run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "[]\n"
