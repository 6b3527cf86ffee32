"""`openpts runs`: what was run here, and what goes on."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openpts.cli.options import FOLDER, argument, flag, with_options

if TYPE_CHECKING:
    from openpts_watch.runs_here import ListedRun


@click.command("runs", short_help="List runs, and how far those are that go on.")
@with_options
def runs(
    *,
    folder: Path | None = argument("[DIR]", FOLDER, name="folder", required=False),
    as_json: bool = flag("Print one JSON object.", name="--json as_json"),
) -> None:
    """List the runs below DIR, by default openpts-runs, and those that go on anywhere on this host.

    Runs of other users that go on are seen by root alone. The time left is the longest: steady state may come
    sooner.
    """
    from openpts.cli.printed_document import print_document  # noqa: PLC0415 help needs nothing that runs
    from openpts.errors import UsageError  # noqa: PLC0415 likewise
    from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
    from openpts_watch.runs_here import RUNS, RunList, runs_here  # noqa: PLC0415 likewise

    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    found = runs_here(folder or RUNS, SystemRoots())
    if as_json:
        print_document(RunList(runs=tuple(found)))
    elif found:
        _print(found)
    else:
        click.echo(f"no runs in {folder or RUNS}, and none goes on")


def _print(found: "list[ListedRun]") -> None:
    from openpts.cli.console import table_console, table_of  # noqa: PLC0415 help needs nothing that runs
    from openpts.units import format_duration  # noqa: PLC0415 likewise

    table = table_of("=State", "=Test", "Drive", "=Started", ">Done", ">Left", "Run")
    for run in found:
        done = "-" if run.done_share is None else f"{run.done_share:.0%}"
        runs_on = run.state == "running" and run.left_ns is not None
        left = format_duration(run.left_ns) if runs_on and run.left_ns is not None else "-"
        started = (run.started_at or "-")[:16].replace("T", " ")
        drive = run.serial if run.serial and run.drive and run.drive.startswith("/dev") else run.drive
        table.add_row(run.state, run.test or "-", drive or "-", started, done, left, _shown(run.folder))
    table_console().print(table)


def _shown(folder: str) -> str:
    """From here, where that is shorter."""
    path = Path(folder)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else folder
