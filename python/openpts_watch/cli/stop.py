"""`openpts stop`: end a run in order, from anywhere."""

import time
from pathlib import Path
from typing import Final

import click

from openpts.cli.options import FOLDER, argument, with_options
from openpts.units import NS_PER_S, format_duration

_PATIENCE_S: Final = 5.0


@click.command("stop", short_help="Stop a run in order, as Ctrl-C does.")
@with_options
def stop(*, run: Path = argument("RUN", FOLDER)) -> None:
    """Stop the run in folder RUN as Ctrl-C in its terminal does, and wait until its record is closed.

    What was measured is kept; `openpts resume` goes on with it. RUN may be that of a suite or of several
    drives, which all end; the run of one test of a suite ends the suite. Only the user of the run, and root,
    can stop it. Ctrl-C ends the wait, and not the run.
    """
    from openpts.record.manifest import RunState  # noqa: PLC0415 help needs nothing that runs
    from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
    from openpts_watch.events_file import EventsFile  # noqa: PLC0415 likewise
    from openpts_watch.runs_here import state_of  # noqa: PLC0415 likewise
    from openpts_watch.seen_run import SeenRun  # noqa: PLC0415 likewise
    from openpts_watch.stop_run import process_of  # noqa: PLC0415 likewise

    began_s = time.monotonic()
    with process_of(run, SystemRoots()) as process:
        process.interrupt()
        click.echo(f"process {process.pid} is asked to stop: it ends its I/O and closes the record")
        while not process.has_ended(_PATIENCE_S):
            waited = format_duration(round((time.monotonic() - began_s) * NS_PER_S))
            click.echo(f"waiting for {waited}")
    seen, file = SeenRun(), EventsFile(run, ends_only=True)
    while seen.take(file.new_lines()):
        pass
    state = RunState.INTERRUPTED if seen.run is None else state_of(run, seen)  # a batch has no events
    goes_on = "" if state is RunState.COMPLETE else f": `openpts resume {run}` goes on with it"
    click.echo(f"{run} is {state}{goes_on}")
