"""`openpts trace check`: a trace is read, and counted."""

from typing import Any

import click

from openpts_traces.cli.trace_options import AS_JSON, DEVICES, PATHS, READ_OPTIONS, named, open_options
from openpts_traces.cli.trace_text import ProgressLine, show
from openpts_traces.treatment import Input
from openpts_traces.treatment import check as check_trace


@click.command()
@PATHS
@DEVICES
@READ_OPTIONS
@AS_JSON
def check(paths: tuple[str, ...], devices: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Read the files of a trace, in this order, and count its records: read = accepted + skipped + damaged.

    Prints the format, where in the stack the trace was taken, the class of its times (A to D, X), its
    devices, and what is damaged with file and line or byte. Exits with 11 if records are damaged or lost, and
    with 12 if the trace is refused.
    """
    with ProgressLine() as progress:
        treated = check_trace(Input(paths, open_options(options, devices)), progress)
    return show(treated, named(paths), None, as_json=as_json)
