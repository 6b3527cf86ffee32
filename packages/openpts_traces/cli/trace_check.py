"""`openpts trace check`: a trace is read, counted, and shown in a dozen figures."""

import click

from openpts.cli.options import group, with_options
from openpts_traces.cli.trace_options import AS_JSON, DEVICES, PATHS, ReadArgs, named
from openpts_traces.cli.trace_text import ProgressLine, show
from openpts_traces.treatment import Input
from openpts_traces.treatment import check as check_trace


@click.command()
@with_options
def check(
    *,
    paths: tuple[str, ...] = PATHS,
    devices: tuple[str, ...] = DEVICES,
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Read the files of a trace, in this order, and count its records: read = accepted + skipped + damaged.

    Prints the format, where in the stack the trace was taken, the class of its times (A to D, X), its
    devices, what is damaged with file and line or byte, and what the trace is like: I/Os and bytes by
    operation, sizes, span, rate, queue depth, sequential share, footprint, hottest per cent. Exits with 11 if
    records are damaged or lost, and with 12 if the trace is refused.
    """
    with ProgressLine() as progress:
        treated = check_trace(Input(paths, read.options(devices)), progress)
    return show(treated, named(paths), None, as_json=as_json)
