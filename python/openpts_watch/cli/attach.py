"""`openpts attach`: look at a run that goes on."""

import sys
from pathlib import Path

import click

from openpts.cli.options import FOLDER, argument, with_options


@click.command("attach", short_help="Show a run that goes on, on the whole terminal.")
@with_options
def attach(*, run: Path | None = argument("[RUN]", FOLDER, required=False)) -> None:
    """Show the run in folder RUN, by default the one that goes on and began last.

    It reads what the run writes into its folder, and never touches its process: q leaves the run as it is.
    Only s stops it, after a question, if the run is yours. What is no terminal gets the state as text, once.
    """
    from openpts.cli.terminal import can_be_drawn_over  # noqa: PLC0415 help needs nothing that runs
    from openpts.errors import RecordError, UsageError  # noqa: PLC0415 likewise
    from openpts.record.writer import EVENTS_NAME  # noqa: PLC0415 likewise

    folder = run or _newest()
    if not (folder / EVENTS_NAME).exists():
        below = sorted(path.parent for path in folder.glob(f"*/{EVENTS_NAME}"))
        hint = f"; its runs are {', '.join(map(str, below))}" if below else ""
        raise RecordError(f"{folder} has no {EVENTS_NAME} to show{hint}")
    if not can_be_drawn_over(sys.stdout):
        _print(folder)
        return
    try:
        from openpts_watch.screen import RunScreen  # noqa: PLC0415 slow to load, and may be missing
    except ModuleNotFoundError as error:
        raise UsageError(f"attach needs {error.name}: pip install 'openpts[watch]'") from None
    RunScreen(folder).run()


def _newest() -> Path:
    """The folder of the run that goes on and began last. Raises UsageError if none is in sight."""
    from openpts.errors import UsageError  # noqa: PLC0415 help needs nothing that runs
    from openpts.record.manifest import RunState  # noqa: PLC0415 likewise
    from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
    from openpts_watch.runs_here import RUNS, runs_here  # noqa: PLC0415 likewise

    found = [one for one in runs_here(RUNS, SystemRoots()) if one.state is RunState.RUNNING and one.test]
    if not found:
        raise UsageError("no run goes on here: name the folder of one; `openpts runs` lists them")
    return Path(found[-1].folder)


def _print(folder: Path) -> None:
    from openpts_watch.events_file import EventsFile  # noqa: PLC0415 help needs nothing that runs
    from openpts_watch.runs_here import state_of  # noqa: PLC0415 likewise
    from openpts_watch.seen_run import SeenRun  # noqa: PLC0415 likewise
    from openpts_watch.words import block  # noqa: PLC0415 likewise

    seen, file = SeenRun(), EventsFile(folder)
    while seen.take(file.new_lines()):
        pass
    for line in block(seen, state_of(folder, seen)):
        click.echo(line)
