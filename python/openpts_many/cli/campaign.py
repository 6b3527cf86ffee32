"""`openpts campaign`: many runs that a file plans, carried out once each, and their report."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from openpts.cli.help_order import InOrder, together
from openpts.cli.printed_document import print_document
from openpts.errors import (
    FleetError,
    InterruptedRunError,
    RecordError,
    RefusedError,
    RunFailedError,
    UsageError,
)
from openpts.record.batch import INDEX_NAME, Batch, counts_text, read_batch
from openpts.record.manifest import RunState
from openpts.system_files import SystemRoots
from openpts.units import format_count
from openpts_many.campaign.begun import as_planned, begin, campaign_of, has_begun, new_campaign, read_begun
from openpts_many.campaign.campaign_file import Campaign, read_campaign, refuse_at, refuse_changes
from openpts_many.campaign.expansion import requests_of
from openpts_many.campaign.on_fleet import ENDED, OnFleet, in_their_slots
from openpts_many.campaign.status import CampaignStatus, status_of
from openpts_many.cli.fleet import backend_of
from openpts_many.fleet.configuration import read_fleet
from openpts_many.fleet.fetch import fetch, in_the_way
from openpts_many.fleet.port import Backend

if TYPE_CHECKING:
    from openpts.batch.side_by_side import SideBySide

_STYLES: Final = {"complete": "green", "running": "bold", "failed": "red", "refused": "red"}

_FILE: Final = click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
_FOLDER: Final = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The campaign's folder. [default: that of the file's name, beside it]",
)
_FLEET: Final = click.option(
    "--fleet",
    "fleet_file",
    metavar="FILE",
    envvar="OPENPTS_FLEET",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The fleet file, for drives with a host.",
)
_CARRY_OUT: Final = together(
    _FILE,
    _FOLDER,
    _FLEET,
    click.option("--no-report", is_flag=True, help="Make no report of each run; see `openpts report`."),
)


@click.group(cls=InOrder, subcommand_metavar="COMMAND FILE")
def campaign() -> None:
    """Carry out many runs that a file plans: drives, tests, repetitions, conditions and their order.

    Each run has its ID before any of them starts. A campaign that was cut off goes on where it stopped, as
    often as it takes: what is done stays, and no run is made twice. See docs/campaigns.md.
    """


@campaign.command(short_help="Carry out a campaign, or what is left of it. DESTROYS ALL DATA on its drives.")
@_CARRY_OUT
def run(*, file: Path, folder: Path | None, fleet_file: Path | None, no_report: bool) -> None:
    """Carry out the campaign of FILE, or what is left of it. DESTROYS ALL DATA on its drives.

    Naming a drive's serial number in the file is the consent to erase that drive. Interrupted runs are
    resumed, or made again, as the file says; refused ones are tried again; failed ones stay as they are.
    """
    _carry_out(file, _place(file, folder), fleet_file, no_report=no_report)


@campaign.command(short_help="Go on with a campaign that has begun.")
@_CARRY_OUT
def resume(*, file: Path, folder: Path | None, fleet_file: Path | None, no_report: bool) -> None:
    """Go on with the campaign of FILE as `openpts campaign run` does, but begin none."""
    _carry_out(file, _begun(file, folder), fleet_file, no_report=no_report)


@campaign.command(short_help="Show what is done, running and failed, and why.")
@_FILE
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(*, file: Path, folder: Path | None, as_json: bool) -> None:
    """Show each run of the campaign of FILE with its state; before it has begun, the runs in their order.

    Of other hosts it shows what was seen last.
    """
    place = _place(file, folder)
    begun = has_begun(place)
    if begun:
        batch = read_begun(place)
    else:
        planned = read_campaign(file)
        batch = new_campaign(planned, requests_of(planned))  # it begins with other IDs
    found = status_of(place, batch)
    if as_json:
        print_document(found)
        return
    _print(found, begun=begun)


@campaign.command(short_help="Report on all drives of a campaign as a population.")
@_FILE
@_FOLDER
@_FLEET
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the report into this folder. [default: population in the campaign's]",
)
@click.option(
    "--archive",
    "archived",
    metavar="ARCHIVE",
    help="Add the runs to this archive, too: a folder, or s3://...",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(
    *,
    file: Path,
    folder: Path | None,
    fleet_file: Path | None,
    out: Path | None,
    archived: str | None,
    as_json: bool,
) -> None:
    """Report on the runs of the campaign of FILE as `openpts population` does.

    With --fleet it first fetches the folders of runs that have ended on hosts that measure nothing.
    """
    from openpts.report.batch_index import write_batch_index  # noqa: PLC0415 help needs nothing that runs
    from openpts_many.cli.population import show_population  # noqa: PLC0415 likewise

    place = _begun(file, folder)
    batch = read_begun(place)
    found = status_of(place, batch)
    if fleet_file is not None and any(one.host for one in found.runs):
        _fetch(found, fleet_file, place)
        found = status_of(place, batch)
    folders = tuple(Path(one.folder) for one in found.runs if one.folder is not None)
    if not folders:
        raise UsageError(f"the campaign in {place} has no run to report on here")
    if archived is not None:
        complete = [one.folder for one in found.runs if one.folder and one.state == RunState.COMPLETE]
        _archive([Path(folder) for folder in complete], archived)
    show_population(folders, out=out or place / "population", as_json=as_json)
    write_batch_index(place, batch)


def _place(file: Path, folder: Path | None) -> Path:
    if folder is not None:
        return folder
    place = file.with_suffix("")
    if not os.path.lexists(file) and not has_begun(place):
        raise UsageError(f"there is no campaign file {file}: docs/campaigns.md has an example")
    if not file.suffix:
        raise UsageError(
            f"{file} has no ending to leave out for the campaign's folder: name one with --folder"
        )
    return place


def _begun(file: Path, folder: Path | None) -> Path:
    place = _place(file, folder)
    if not has_begun(place):
        raise UsageError(
            f"the campaign of {file} has not begun: there is no plan in {place}; "
            f"`openpts campaign run {file}` begins it"
        )
    return place


def _carry_out(file: Path, place: Path, fleet_file: Path | None, *, no_report: bool) -> None:
    from openpts.batch.executor import batch_claimed  # noqa: PLC0415 help needs nothing that runs

    planned = read_campaign(file)
    _refuse_options(planned, file)
    fleet = _backend(fleet_file, planned.drives[0].host)
    if begun := has_begun(place):
        batch = read_begun(place)
        planned = refuse_changes(campaign_of(batch), file)
    else:
        found = planned if fleet is None else in_their_slots(planned, file, fleet.hosts)
        batch = begin(place, planned, requests_of(found))
    with batch_claimed(place, batch, SystemRoots()):
        batch = read_begun(place) if begun else batch  # as it is while no other process carries it out
        click.echo(f"{format_count(len(batch.entries), 'run')}, {planned.order}, in {place}")
        runner = _runner(place, as_planned(batch, planned), fleet, no_report=no_report)
        _run(runner, sys.stdout, "`openpts campaign run`", " with the same file")
    _end(status_of(place, runner.batch), f"`openpts campaign status {file}` lists all", sys.stdout)


def resume_folder(
    folder: Path,
    *,
    fleet_file: Path | None,
    agreed: Mapping[str, Any],
    accepted: Mapping[str, bool],
    stream: IO[str],
    no_report: bool,
    as_json: bool,
) -> None:
    """Go on with the campaign in a folder, as `openpts resume` does: the consent is given once more.

    Raises RecordError if no run is left, or another process carries it out.
    """
    from openpts.batch.executor import batch_claimed  # noqa: PLC0415 help needs nothing that runs
    from openpts.cli.batch import BatchDocument, words_to_resume  # noqa: PLC0415 likewise

    with batch_claimed(folder, read_batch(folder), SystemRoots()):
        batch = read_batch(folder)
        fleet = _backend(fleet_file, batch.entries[0].request.host)
        runner = _runner(folder, batch, fleet, no_report=no_report)
        left = [entry.request for entry in runner.batch.entries if entry.state not in ENDED]
        if not left:
            raise RecordError(f"{folder} has come to its end: no run is left to resume")
        serials = dict.fromkeys(one.serial for one in left if one.serial is not None)
        if missing := [serial for serial in serials if serial not in agreed["confirm_serials"]]:
            words = " ".join(f"--confirm-serial {serial}" for serial in missing)
            raise RefusedError(f"refused [confirmation]: all data on the drives is lost: agree with {words}")
        runner.resume_words = words_to_resume(agreed, accepted)
        _run(runner, stream, f"`openpts resume {folder}`")
    if as_json:
        print_document(BatchDocument.of(runner.batch, folder=str(folder)))
    _end(status_of(folder, runner.batch), f"{folder / INDEX_NAME} lists all", stream)


def _backend(fleet_file: Path | None, host: str | None) -> Backend | None:
    """What starts runs on the hosts of a campaign; None for this host. Raises UsageError."""
    if host is not None and fleet_file is None:
        raise UsageError("the drives have hosts: give the fleet file with --fleet")
    return None if host is None or fleet_file is None else backend_of(fleet_file)


def _runner(place: Path, batch: Batch, fleet: Backend | None, *, no_report: bool) -> "SideBySide | OnFleet":
    """What carries out the runs that are not done."""
    from openpts.batch.executor import what_is_left  # noqa: PLC0415 help needs nothing that runs
    from openpts.batch.side_by_side import SideBySide  # noqa: PLC0415 likewise
    from openpts.cli.report import documents_on  # noqa: PLC0415 likewise

    if fleet is not None:
        return OnFleet(folder=place, batch=batch, backend=fleet, pause=time.sleep)
    report = None if no_report else documents_on
    return SideBySide(folder=place, batch=what_is_left(place, batch), report=report)


def _run(runner: "SideBySide | OnFleet", stream: IO[str], again: str, with_file: str = "") -> None:
    """Carry the campaign out, and write its page; ``again`` is the command that goes on."""
    from openpts.cli.batch import run_shown  # noqa: PLC0415 help needs nothing that runs
    from openpts.report.batch_index import write_batch_index  # noqa: PLC0415 likewise

    try:
        run_shown(runner, stream)
    except KeyboardInterrupt:
        if not isinstance(runner, OnFleet):
            raise
        raise InterruptedRunError(
            f"not watched any more: runs that were submitted go on; {again} watches on"
        ) from None
    finally:
        write_batch_index(runner.folder, runner.batch)
    if not isinstance(runner, OnFleet) and runner.stopped:
        raise InterruptedRunError(f"stopped by the operator: {again}{with_file} goes on")


def _refuse_options(planned: Campaign, file: Path) -> None:
    """Raises UsageError for options that a test does not take, before any run starts."""
    from openpts.cli.run import refuse_test_words  # noqa: PLC0415 slow to load

    wrong, target = [], planned.drives[0].target or "/dev/x"
    for number, test in enumerate(planned.tests):
        for variant in planned.conditions or (None,):
            words = (test.test, *test.options, *(variant.options if variant else ()))
            try:
                refuse_test_words(words, target)
            except click.ClickException as error:
                under = f" under {variant.name}" if variant else ""
                keys = ("tests", number, "options")
                wrong.append((keys, f"{test.test}{under}: {error.format_message()}"))
    refuse_at(file, wrong)


def _fetch(found: CampaignStatus, fleet_file: Path, out: Path) -> None:
    backend, fleet = backend_of(fleet_file), read_fleet(fleet_file)
    left = [run for run in found.runs if run.folder is None and run.state != RunState.WAITING]
    known = {run.run_id: run for run in backend.list({run.host for run in left if run.host})} if left else {}
    for run_id in (run.run_id for run in left):
        try:
            seen = known.get(run_id) or backend.observe(run_id)
            reasons = in_the_way((*known.values(), seen), [run_id])
            if not reasons:
                fetch(fleet, seen, out)
        except FleetError as error:
            reasons = (str(error),)
        for reason in reasons:
            click.echo(f"not fetched: {reason}", err=True)


def _archive(folders: Sequence[Path], place: str) -> None:
    """Raises RecordError if a run could not be added."""
    from openpts_many.archive.add import add_runs  # noqa: PLC0415 slow to load
    from openpts_many.archive.store import Store  # noqa: PLC0415 likewise

    results = list(add_runs(Store.of(place), folders, redact=False, replace=False))
    if failed := [str(one.error) for one in results if one.error is not None]:
        raise RecordError(f"{len(failed)} runs were not archived: {failed[0]}")
    click.echo(f"archive: {len(folders)} runs in {place}", err=True)


def _end(found: CampaignStatus, elsewhere: str, stream: IO[str]) -> None:
    """Raises RunFailedError if a run did not come to its end; ``elsewhere`` says what lists all."""
    click.echo(_counts(found), file=stream)
    left = [one for one in found.runs if one.state != RunState.COMPLETE]
    if left:
        first = left[0]
        reason = f": {first.reason}" if first.reason else ""
        raise RunFailedError(
            f"{len(left)} of {format_count(len(found.runs), 'run')} did not end well: run {first.number}, on "
            f"{first.drive}, is {first.state}{reason}; {elsewhere}"
        )


def _counts(found: CampaignStatus) -> str:
    return counts_text([one.state for one in found.runs], "campaign")


def _print(found: CampaignStatus, *, begun: bool) -> None:
    from openpts.cli.console import table_console, table_of  # noqa: PLC0415 help needs nothing that runs

    columns: dict[str, list[str | None]] = {
        ">#": [str(one.number) for one in found.runs],
        "=State": [one.state for one in found.runs],
        "=Test": [one.test for one in found.runs],
        "Condition": [one.condition for one in found.runs],
        ">Repeat": [str(one.repetition) for one in found.runs],
        "Host": [one.host for one in found.runs],
        "=Slot": [one.slot for one in found.runs],
        "Drive": [one.drive for one in found.runs],
        "Why": [one.reason for one in found.runs],
    }
    shown = {heading: texts for heading, texts in columns.items() if any(texts)}
    table = table_of(*shown)
    for one, *texts in zip(found.runs, *shown.values(), strict=True):
        table.add_row(*(text or "-" for text in texts), style=_STYLES.get(one.state, ""))
    table_console().print(table)
    running = ", carried out now" if found.is_running else ""
    click.echo(
        f"{_counts(found)}{running}" if begun else f"{format_count(len(found.runs), 'run')}, not begun"
    )
