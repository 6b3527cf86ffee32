"""The options that say what is sampled beside the I/O of a run."""

import re
from typing import Final

import click

from openpts.errors import UsageError
from openpts.runner.power_command import PowerCommand
from openpts.runner.telemetry import TelemetryChoice

_OFF: Final = "off"
_PERIOD: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|ms)?")
_SECONDS: Final = {None: 1.0, "s": 1.0, "ms": 0.001}
_SHORTEST_S, _LONGEST_S = 0.1, 3600.0

TELEMETRY_OPTIONS: Final = (
    click.option(
        "--telemetry-period",
        default="1s",
        show_default=True,
        metavar="TIME",
        help="Sample temperature, processors, other I/O and the like at this interval during the test: "
        "0.1s to 3600s, or off.",
    ),
    click.option(
        "--power-command",
        metavar="COMMAND",
        help="Run this program during the test and read a power meter from its output, one number of "
        "watts per line. No shell.",
    ),
)


def telemetry_of(period: str, power_command: str | None) -> TelemetryChoice:
    """What the options ask for. Raises UsageError, also if there is no such program."""
    if power_command is not None:
        PowerCommand(power_command)
    return TelemetryChoice(None if period == _OFF else _period_s(period), power_command)


def _period_s(text: str) -> float:
    match = _PERIOD.fullmatch(text)
    period_s = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not _SHORTEST_S <= period_s <= _LONGEST_S:
        raise UsageError(f"--telemetry-period {text!r}: write a time from 0.1s to 3600s, or off")
    return period_s
