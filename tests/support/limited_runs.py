"""Runs that are held against limits, by the command line."""

from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.errors import OpenptsError

ALLOW = 'allow = ["deviations", "not steady"]\n'
TARGET = "sim:enterprise-tlc?capacity=4GB"


def invoke(*words: object) -> tuple[OpenptsError | None, str]:
    result = CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False)
    assert result.exception is None or isinstance(result.exception, OpenptsError), result.output
    return result.exception, result.output
