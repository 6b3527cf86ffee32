"""Every option and argument of the command line is explained."""

import re
import subprocess
import sys

import click
import pytest

from tests.support.command_tree import all_commands

_HEAVY = (
    *("openpts.runner.run", "openpts.runner.driver", "openpts.runner.measure", "openpts.batch.side_by_side"),
    *("openpts.report.build", "openpts.report.write", "openpts.report.batch_index", "openpts.cli.batch"),
    *("importlib.metadata", "jinja2", "typst", "vl_convert", "pyarrow", "asyncio"),
)


@pytest.mark.with_plugins
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


@pytest.mark.with_plugins
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
_SCRIPTS = ("openpts.procedures.pts.xsr.script", "openpts_app.app.script")
_MAKES_REPORTS = ("openpts.report.build", "openpts.conformance.conformance", "jinja2", "typst", "vl_convert")


@pytest.mark.with_plugins
@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("report", _TESTS_DRIVES + _MAKES_REPORTS),
        ("gate", (*_TESTS_DRIVES, *_MAKES_REPORTS[:1], "openpts.runs.flat_rows")),
        ("export", (*_TESTS_DRIVES, "openpts.report.build", "jinja2", "typst", "vl_convert")),
        ("compare", _TESTS_DRIVES),
        ("run", _SCRIPTS),
        ("plan", _SCRIPTS),
    ],
)
def test_a_command_does_not_load_what_others_need(command: str, others: tuple[str, ...]) -> None:
    program = (
        "import sys; from openpts.cli.main import cli; "
        f"cli.main([{command!r}, '--help'], standalone_mode=False); "
        f"print(sorted({{*{others!r}}} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.splitlines()[-1] == "[]"
