"""What an operator sets of a run beside its conditions, as options."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from openpts.cli.commands_on_demand import Decorator, together
from openpts.cli.live_outputs import OUTPUT_OPTIONS
from openpts.cli.options import FILE, OUTPUT, PATH, SAFETY, FiniteRange, flag, group, option
from openpts.device.nearby_cpus import NUMA
from openpts.engine.options import IoPath
from openpts.errors import UsageError
from openpts.fields.parsing import refuse
from openpts.fields.settings import RUN_SETTINGS
from openpts.system_files import printable
from openpts.vocabulary.facts import LABEL_NAME, Scenario
from openpts.vocabulary.hook import HOOK_LIMIT_S


def labels_of(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Labels by their names. Raises UsageError for a name that metrics can't have, or that is given twice."""
    labels: dict[str, str] = {}
    for word in values:
        name, equals, value = word.partition("=")
        if not equals or not re.match(LABEL_NAME, name):
            raise UsageError(f"invalid --label {word!r}: write NAME=VALUE, the name of letters, digits and _")
        if name in labels:
            raise UsageError(f"--label {name} is given twice")
        labels[name] = printable(value)
    return labels


LABELS: Final = option(
    "--label NAME=VALUE", RUN_SETTINGS["labels"].text, name="labels", multiple=True, callback=labels_of
)


def _hooks_of(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    from openpts.vocabulary.hook import Hook  # noqa: PLC0415 slow to load

    for word in values:
        Hook.of(word)
    return tuple(values)


_PERIOD: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|ms)?")
_SECONDS: Final = {None: 1.0, "s": 1.0, "ms": 0.001}
_SHORTEST_S, _LONGEST_S = 0.1, 3600.0


def telemetry_period_s(option_name: str, text: str) -> float | None:
    """What the option asks for, None for ``off``. Raises UsageError."""
    if text == "off":
        return None
    match = _PERIOD.fullmatch(text)
    period_s = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not _SHORTEST_S <= period_s <= _LONGEST_S:
        refuse(option_name, text, "write a time from 0.1s to 3600s, or off")
    return period_s


PURGE_OPTION: Final[Decorator] = option("--purge METHOD", RUN_SETTINGS["purge"].text, usual=SAFETY)


@dataclass(frozen=True, slots=True)
class RunArgs:
    """What an operator sets of a run beside its conditions."""

    io_path: str | None = option(
        "",
        "I/O path to the target. [default: what a probe of it finds best]",
        click.Choice([path.value for path in IoPath if path is not IoPath.NOOP]),
    )
    cpus: str = option(
        "", "Pin the threads to these processors, in turn: a list such as 0-3,8, numa or none.", default=NUMA
    )
    scenario: str | None = option(
        "", RUN_SETTINGS["scenario"].text, click.Choice([scenario.value for scenario in Scenario])
    )
    tune: bool = flag("Set the host up for the scenario during the run; see `openpts doctor`.")
    exclusive_host: bool = flag("Refuse other runs of openpts on this host, before and during this one.")
    telemetry_period_s: float | None = option(
        "--telemetry-period TIME",
        "Sample temperature, processors, other I/O and the like at this interval during the test: "
        "0.1s to 3600s, or off.",
        telemetry_period_s,
        default="1s",
    )
    slow_io_ms: float | None = option(
        "--outliers MS",
        "Note each I/O that takes so many milliseconds or more, and what made it slow; see the "
        "report. A drive's own latency monitor (OCP) counts from 5 ms on meanwhile.",
        FiniteRange(0.05, 60_000),
    )
    power_command: str | None = option(
        "COMMAND",
        "Run this program during the test and read a power meter from its output, one number of "
        "watts per line. No shell.",
    )
    temperature_command: str | None = option(
        "COMMAND",
        "Run this program during the test and read a camera or a probe from its output, one number of "
        "degrees Celsius per line. No shell.",
    )
    describe: Path | None = option("FILE", RUN_SETTINGS["describe"].text, FILE)
    out: Path | None = option("", "Run folder; must be new or empty.", PATH, usual=OUTPUT)
    operator: str | None = option("", RUN_SETTINGS["operator"].text)
    auditor: str | None = option("", RUN_SETTINGS["auditor"].text)
    sponsor: str | None = option("", RUN_SETTINGS["sponsor"].text)
    labels: dict[str, str] = LABELS
    hooks: tuple[str, ...] = option(
        "--hook MOMENT=COMMAND",
        "Start this program at run-start, run-end, cycle-start, cycle-end, phase-start, or a time after "
        "the start such as 30min; may be repeated. No shell.",
        multiple=True,
        callback=_hooks_of,
    )
    hook_limit_s: float = option(
        "--hook-limit SECONDS",
        "Kill a program of --hook after this time.",
        FiniteRange(0.1, 86400),
        default=HOOK_LIMIT_S,
    )


RUN_OPTIONS = together(group(RunArgs), OUTPUT_OPTIONS)
