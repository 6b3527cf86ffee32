"""Every option and argument of the command line is explained."""

import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from openpts.cli.procedure_options import help_of
from openpts.planning.dry_run import AssumedDrive, Ending, PlannedApply, dry_run
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts_pts.conformance.catalogue import PTS
from tests.support.command_tree import all_commands

_HEAVY = (
    *("openpts.runner.run", "openpts.runner.driver", "openpts_io.measure", "openpts_batch.side_by_side"),
    *("openpts.report.build", "openpts.report.write", "openpts_batch.batch_index", "openpts_batch.cli.batch"),
    *("importlib.metadata", "jinja2", "typst", "vl_convert", "pyarrow", "asyncio"),
)


def test_every_command_and_every_option_says_what_it_does() -> None:
    found = dict(all_commands())
    assert {("sim", "show"), ("run", "iops")} <= set(found)
    for path, command in found.items():
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{path} {parameter.name}"
            else:
                word = re.sub(r"\W.*", "", (parameter.metavar or parameter.name or "").lstrip("[")).upper()
                assert word.rstrip("S") in command.help.upper(), f"{path} {parameter.name}"


def test_no_help_loads_what_runs_tests_or_makes_reports() -> None:
    program = (
        "import sys; from openpts.cli.main import cli; from tests.support.command_tree import all_commands; "
        "[cli.main([*words, '--help'], standalone_mode=False) for words, _ in all_commands()]; "
        f"print(sorted({{*{_HEAVY!r}}} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.splitlines()[-1] == "[]"


def test_the_first_pages_load_no_command() -> None:
    others = (
        "{'openpts._native', 'openpts.runner.run', 'openpts.procedures.registry', 'openpts.cli.plan', 'rich'}"
    )
    program = (
        "import sys; from openpts.cli.main import cli; "
        "[cli.main(words, standalone_mode=False) for words in ([], ['--help'])]; "
        f"print(sorted({others} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.splitlines()[-1] == "[]"


_TESTS_DRIVES = ("openpts.runner.run", "openpts_fio.engine.engine", "ruamel.yaml", "openpts.cli.plan")
_SCRIPTS = ("openpts_pts.xsr.script", "openpts_app.app.script")
_MAKES_REPORTS = (
    "openpts.report.build",
    "openpts_pts.conformance.conformance",
    "jinja2",
    "typst",
    "vl_convert",
)


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("report", _TESTS_DRIVES + _MAKES_REPORTS),
        ("gate", (*_TESTS_DRIVES, *_MAKES_REPORTS[:1], "openpts_compare.runs.flat_rows")),
        ("export", (*_TESTS_DRIVES, "openpts.report.build", "jinja2", "typst", "vl_convert")),
        ("compare", _TESTS_DRIVES),
        ("run", _SCRIPTS),
        ("plan", _SCRIPTS),
    ],
)
def test_a_command_does_not_load_what_others_need(command, others) -> None:
    program = (
        "import sys; from openpts.cli.main import cli; "
        f"cli.main([{command!r}, '--help'], standalone_mode=False); "
        f"print(sorted({{*{others!r}}} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.splitlines()[-1] == "[]"


CAPACITY_BYTES = 10**12
FAST, SLOW = AssumedDrive(write_iops=1e6, write_bytes_per_s=1e10), AssumedDrive(write_bytes_per_s=1e6)
LENGTH = re.compile(r"(?:([0-9]+) h(?:ours)?)?(?: ?([0-9]+) min(?:utes)?\b)?")


def said_minutes(test: str) -> set[int]:
    text = " ".join(help_of(PTS[test]).split("TARGET is")[0].split())
    found = (LENGTH.match(text, at) for at in (m.start() for m in re.finditer(r"(?<![0-9])[0-9]+ ", text)))
    return {int(m[1] or 0) * 60 + int(m[2] or 0) for m in found if m and (m[1] or m[2])}


def minutes(test: str, drive: AssumedDrive, ending: Ending, wanted: Callable[[PlannedApply], bool]) -> float:
    script = PTS[test].script(PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1), CAPACITY_BYTES)
    planned = dry_run(script, CAPACITY_BYTES, drive, ending)
    return sum(sum(one.durations_ns) for one in planned if one.cycle == 1 and wanted(one)) / 60e9


def parts(*names: Phase) -> Callable[[PlannedApply], bool]:
    return lambda one: one.apply.phase in names


ROUNDS = parts(Phase.ROUND)
VARIATION = parts(Phase.ROUND, Phase.ROUND_PREWRITE)


@pytest.mark.parametrize("test", ["iops", "tp", "lat"])
def test_rounds(test) -> None:
    for drive, ending in ((FAST, Ending.SHORTEST), (FAST, Ending.LONGEST)):
        assert minutes(test, drive, ending, ROUNDS) in said_minutes(test)


@pytest.mark.parametrize("test", ["hir", "cbw", "dirth"])
def test_preconditioning(test) -> None:
    for ending in (Ending.SHORTEST, Ending.LONGEST):
        assert minutes(test, FAST, ending, parts(Phase.WDPC)) in said_minutes(test)


@pytest.mark.parametrize("test", ["lat", "wsat"])
def test_histograms(test) -> None:
    assert minutes(test, FAST, Ending.SHORTEST, parts(Phase.HISTOGRAM)) in said_minutes(test)


def test_saturation_of_a_drive_that_is_too_slow_to_be_filled() -> None:
    assert minutes("wsat", SLOW, Ending.LONGEST, parts(Phase.SATURATION)) in said_minutes("wsat")


def test_wait_states() -> None:
    states = parts(Phase.WAIT_STATE, Phase.RETURN_TO_BASELINE)
    assert minutes("hir", FAST, Ending.SHORTEST, states) in said_minutes("hir")


def test_access_groups() -> None:
    assert {
        minutes("xsr", FAST, Ending.SHORTEST, parts(Phase.ACCESS_GROUP)),
        minutes("xsr", FAST, Ending.SHORTEST, lambda one: one.apply.number == 1),
        minutes("xsr", FAST, Ending.SHORTEST, lambda one: one.apply.number == 2),
    } == said_minutes("xsr")


@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_demand_variation(test) -> None:
    one_histogram = minutes(
        test,
        FAST,
        Ending.SHORTEST,
        lambda one: one.apply.phase in {Phase.HISTOGRAM, Phase.HISTOGRAM_PREWRITE} and one.apply.number == 1,
    )
    assert {
        minutes(test, FAST, Ending.SHORTEST, VARIATION),
        minutes(test, SLOW, Ending.LONGEST, VARIATION),
        one_histogram,
    } <= said_minutes(test)
