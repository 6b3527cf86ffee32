"""Runs that are held against limits, by the command line."""

from functools import partial

from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.errors import OpenptsError
from openpts.report.write import ReportOptions, write_report

ALLOW = 'allow = ["deviations", "not steady"]\n'
TARGET = "sim:enterprise-tlc?capacity=4GB"
FIGURES_ALONE = partial(write_report, options=ReportOptions(html=False, pdf=False, csv=False))
"""In place of ``write_report``: two thirds of the time of a short run are its pages."""


def invoke(*words: object) -> tuple[OpenptsError | None, str]:
    result = CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False)
    assert result.exception is None or isinstance(result.exception, OpenptsError), result.output
    return result.exception, result.output
