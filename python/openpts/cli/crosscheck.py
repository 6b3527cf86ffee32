"""`openpts crosscheck`: does the native engine measure what fio measures?"""

import json
import secrets
import sys
from collections.abc import Callable
from typing import Any

import click

from openpts.cli.consent_options import CONSENT_OPTIONS
from openpts.cli.crosscheck_json import result_object
from openpts.cli.crosscheck_table import event_lines, print_table
from openpts.cli.finite import FiniteRange
from openpts.cli.option_group import together
from openpts.device.guard.consent import Consent
from openpts.engine.options import IoPath
from openpts.runner.crosscheck import (
    CASES,
    READS,
    WRITES,
    CrosscheckEvent,
    CrosscheckOrder,
    CrosscheckStarted,
    crosscheck,
)
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import Duration


@click.command("crosscheck")
@click.argument("target")
@click.option(
    "--stimulus",
    "names",
    multiple=True,
    type=click.Choice(list(CASES)),
    metavar="NAME",
    help=f"Compare with this stimulus; may be repeated: {', '.join(CASES)}. [default: all that only read]",
)
@click.option("--writes", is_flag=True, help="Include the stimuli that write. DESTROYS DATA.")
@click.option(
    "--seconds",
    type=FiniteRange(0.05, 3600),
    metavar="SECONDS",
    default=2.0,
    show_default=True,
    help="Length of one measurement.",
)
@click.option(
    "--ramp",
    type=FiniteRange(0, 60),
    default=0.25,
    show_default=True,
    metavar="SECONDS",
    help="Ramp at the start of each measurement, not counted.",
)
@click.option(
    "--repeats",
    type=click.IntRange(2, 1000),
    metavar="N",
    default=6,
    show_default=True,
    help="Pairs of measurements for each stimulus.",
)
@click.option(
    "--limit",
    "limit_pct",
    type=FiniteRange(0, 100, min_open=True),
    default=3.0,
    show_default=True,
    metavar="PCT",
    help="Difference that counts as agreement.",
)
@click.option(
    "--io-path",
    type=click.Choice([IoPath.IO_URING.value, IoPath.SYNC.value]),
    help="I/O path of the native engine, and of fio where it has it. [default: what suits TARGET]",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Seed of offsets and data; random."
)
@together(*CONSENT_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the log goes to stderr.")
def crosscheck_command(
    target: str, names: tuple[str, ...], limit_pct: float, *, writes: bool, as_json: bool, **options: Any
) -> None:
    """Compare the native engine with fio on TARGET. Only reads, unless --writes is given.

    Each stimulus runs on both engines in turn, in pairs whose order alternates. The table has the difference
    of IOPS and of mean latency with its 95 % confidence interval over the pairs; they agree if the whole
    interval is within the limit. TARGET is a drive or file:PATH; the program fio is needed.
    """
    cases = tuple(CASES[name] for name in dict.fromkeys(names)) or READS
    order = CrosscheckOrder(
        target=target,
        cases=(*cases, *(case for case in WRITES if case not in cases)) if writes else cases,
        step=_step(options["seconds"], options["ramp"]),
        repeats=options["repeats"],
        seed=secrets.randbits(63) if options["seed"] is None else options["seed"],
        io_path=None if options["io_path"] is None else IoPath(options["io_path"]),
        consent=Consent(
            confirm_serial=options["confirm_serial"],
            confirm_device_path=options["confirm_device_path"],
            overwrite_file=options["overwrite_file"],
            erase_signatures=options["erase_signatures"],
        ),
    )
    started: list[CrosscheckStarted] = []

    def hear(event: CrosscheckEvent) -> None:
        if isinstance(event, CrosscheckStarted):
            started.append(event)
        for line in event_lines(event):
            click.echo(line, err=as_json)

    comparisons = crosscheck(order, hear)
    if as_json:
        click.echo(json.dumps(result_object(started[0], comparisons, limit_pct, order.seed)))
    else:
        print_table(sys.stdout, comparisons, limit_pct)


def _step(seconds: float, ramp_seconds: float) -> Callable[[Stimulus], Step]:
    ramp_ns = round(ramp_seconds * NS_PER_S)
    return lambda stimulus: Step(stimulus, Duration.seconds(seconds), ramp_ns)
