"""`openpts attach`: which runs are there, how far one is, and its end in order."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from openpts.cli.options import FOLDER, argument, flag, with_options

if TYPE_CHECKING:
    from openpts_watch.runs_here import ListedRun


_PATIENCE_S: Final = 5.0


@click.command("attach", short_help="List runs, show one in progress, or stop it.")
@with_options
def attach(
    *,
    run: Path | None = argument("[RUN|DIR]", FOLDER, required=False),
    to_stop: bool = flag(
        "Stop the run as Ctrl-C in its terminal does, and wait until its record is closed.",
        name="--stop to_stop",
    ),
    as_json: bool = flag("Print the list as one JSON object.", name="--json as_json"),
) -> None:
    """Show the run in folder RUN; without it, list those below openpts-runs and those in progress here.

    The list has the state of each run, what is done and the longest time left: steady state may come sooner.
    DIR is another folder with runs; of a suite the run in progress is shown. Runs of other users that are in
    progress are seen by root alone.

    It reads what the run writes into its folder, and never touches its process: q leaves the run as it is.
    Only s stops it, after a question, and --stop. What is no terminal gets the state as text, once.

    What was measured by then is kept; the last line says where `openpts resume` continues. RUN may be a suite
    or several drives, which all end; the run of one test of a suite ends the suite. Only the user of the run,
    and root, can stop it. Ctrl-C ends the wait, and not the run.
    """
    from openpts.errors import UsageError  # noqa: PLC0415 help needs nothing that runs

    if to_stop and (run is None or as_json):
        raise UsageError("--stop goes with a RUN alone: `openpts attach` lists them")
    if run is not None and not run.is_dir():
        raise UsageError(f"there is no folder {run}")
    if to_stop and run is not None:
        _stop(run)
    elif not as_json and run is not None and (shown := _shown_run(run)) is not None:
        _show(shown)
    else:
        _list(run, as_json=as_json)


def _shown_run(folder: Path) -> Path | None:
    """The run in a folder; of a suite, or of several drives, the only one in progress."""
    from openpts.ownership import CLAIM_NAME, is_locked  # noqa: PLC0415 help needs nothing that runs
    from openpts.record.batch import is_batch, read_batch  # noqa: PLC0415 likewise
    from openpts.record.writer import EVENTS_NAME  # noqa: PLC0415 likewise

    if (folder / EVENTS_NAME).exists():
        return folder
    if not is_batch(folder):
        return None
    folders = (folder / entry.folder for entry in read_batch(folder).entries)
    running = [one for one in folders if (one / EVENTS_NAME).exists() and is_locked(one / CLAIM_NAME)]
    return running[0] if len(running) == 1 else None


def _show(folder: Path) -> None:
    from openpts.cli.standard_streams import can_be_drawn_over  # noqa: PLC0415 help needs nothing that runs
    from openpts.errors import UsageError  # noqa: PLC0415 likewise
    from openpts_watch.run_texts import block  # noqa: PLC0415 likewise
    from openpts_watch.runs_here import seen_in, state_of  # noqa: PLC0415 likewise

    if not can_be_drawn_over(sys.stdout):
        seen = seen_in(folder)
        for line in block(seen, state_of(folder, seen)):
            click.echo(line)
        return
    try:
        from openpts_watch.screen import RunScreen  # noqa: PLC0415 slow to load, and may be missing
    except ModuleNotFoundError as error:
        raise UsageError(f"attach needs {error.name}: pip install 'openpts[watch]'") from None
    RunScreen(folder).run()


def _list(folder: Path | None, *, as_json: bool) -> None:
    from openpts.cli.standard_streams import print_document  # noqa: PLC0415 help needs nothing that runs
    from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
    from openpts_watch.runs_here import RUNS, RunList, runs_here  # noqa: PLC0415 likewise

    found = runs_here(folder or RUNS, SystemRoots())
    if as_json:
        print_document(RunList(runs=tuple(found)))
    elif found:
        _print(found)
    else:
        click.echo(f"no runs in {folder or RUNS}, and none in progress")


def _print(found: "list[ListedRun]") -> None:
    from openpts.cli.console import table_console, table_of  # noqa: PLC0415 help needs nothing that runs
    from openpts.units import format_duration  # noqa: PLC0415 likewise

    table = table_of(
        "=State",
        "=Test",
        "Drive",
        "=Started",
        ">Done",
        ">Left",
        "Run",
        left_out=("Started", "Left", "Drive", "Test", "Done"),
    )
    for run in found:
        done = "-" if run.done_share is None else f"{run.done_share:.0%}"
        is_running = run.state == "running" and run.left_ns is not None
        left = format_duration(run.left_ns) if is_running and run.left_ns is not None else "-"
        started = (run.started_at or "-")[:16].replace("T", " ")
        drive = run.serial if run.serial and run.drive and run.drive.startswith("/dev") else run.drive
        table.add_row(run.state, run.test or "-", drive or "-", started, done, left, _from_here(run.folder))
    table_console().print(table)


def _from_here(folder: str) -> str:
    """Relative, where that is shorter."""
    path = Path(folder)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else folder


def _stop(folder: Path) -> None:
    from openpts.record.manifest import RunState  # noqa: PLC0415 help needs nothing that runs
    from openpts.runner.driver import what_is_kept  # noqa: PLC0415 likewise
    from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
    from openpts.units import NS_PER_S, format_duration  # noqa: PLC0415 likewise
    from openpts_watch.runs_here import seen_in, state_of  # noqa: PLC0415 likewise
    from openpts_watch.stop_run import process_of  # noqa: PLC0415 likewise

    began_s = time.monotonic()
    with process_of(folder, SystemRoots()) as process:
        process.interrupt()
        click.echo(f"process {process.pid} is asked to stop: it ends its I/O and closes the record")
        while not process.has_ended(_PATIENCE_S):
            waited = format_duration(round((time.monotonic() - began_s) * NS_PER_S))
            click.echo(f"waiting for {waited}")
    seen = seen_in(folder, ends_only=True)
    state = RunState.INTERRUPTED if seen.run is None else state_of(folder, seen)  # a batch has no events
    hint = "" if state is RunState.COMPLETE else f"; {what_is_kept(folder)}"
    click.echo(f"{folder} is {state}{hint}")
