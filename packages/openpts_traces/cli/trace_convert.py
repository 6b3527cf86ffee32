"""`openpts trace convert`: a trace in another format."""

from pathlib import Path

import click

from openpts.cli.options import NEW_FILE, group, option, with_options
from openpts_traces.cli.trace_options import AS_JSON, DEVICES, PATHS, ReadArgs, named
from openpts_traces.cli.trace_text import ProgressLine, show
from openpts_traces.treatment import Input, outputs, write


@click.command()
@with_options
def convert(
    *,
    paths: tuple[str, ...] = PATHS,
    out: Path = option(
        "-o --out FILE", "Write this file, which must not be there yet.", NEW_FILE, required=True
    ),
    to: str = option(
        "--to",
        "Write this format; openpts is the canonical form.",
        click.Choice(outputs()),
        default="openpts",
    ),
    devices: tuple[str, ...] = DEVICES,
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Write the files of a trace, in this order, as one file in another format.

    What that format has no place for is listed. A trace that is refused leaves no file.
    """
    with ProgressLine() as progress:
        treated = write(Input(paths, read.options(devices)), to, out, progress)
    return show(treated, named(paths), str(out), as_json=as_json)
