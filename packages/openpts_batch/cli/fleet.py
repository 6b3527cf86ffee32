"""`openpts fleet`: runs on the drives of other hosts."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click
import msgspec

from openpts.cli.commands_on_demand import InOrder, together
from openpts.cli.consent_options import ACCEPT_OPTIONS, CONFIRM_NAMESPACE, CONSENT_OPTIONS
from openpts.cli.options import FILE, FOLDER, argument, flag, option, with_options
from openpts.cli.run_options import LABELS
from openpts.cli.standard_streams import print_document
from openpts.did_you_mean import did_you_mean
from openpts.errors import FleetError, UsageError, failing_as
from openpts.ownership import new_run_id
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.vocabulary.document import Document
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.fleet.configuration import FLEET_FILE, HostState, Observation, read_fleet
from openpts_batch.fleet.host_side import HostSide
from openpts_batch.fleet.slurm import SlurmBackend

_COLORS: Final = {
    RunState.COMPLETE: "green",
    RunState.FAILED: "red",
    RunState.INTERRUPTED: "red",
    RunState.CANCELLED: "yellow",
    RunState.UNKNOWN: "yellow",
}

_ONE_DRIVE: Final = "is for the drives of one machine: submit a run for each"
_OURS: Final = {
    "--json": "stands before {test}",
    "--run-id": "stands before {test}",
    "--label": "stands before {test}",
    "--confirm-serial": "can't be given: --serial, before {test}, is the consent",
    "--out": "can't be given: the host has a folder for each run",
    "--events": "can't be given: the host keeps the events of each run",
    "--drives": _ONE_DRIVE,
    "--stagger": _ONE_DRIVE,
    "--at-most": _ONE_DRIVE,
}
"""Options of `openpts run` that are said otherwise here."""

FLEET_OPTION: Final = option(
    "--fleet FILE",
    "The fleet file: hosts and their slots.",
    FILE,
    name="fleet_file",
    envvar="OPENPTS_FLEET",
    default=FLEET_FILE,
)
_JSON: Final = flag("Print a JSON object; see docs/interfaces.md.", name="--json as_json")
_HERE: Final = option("--here HOST", "Name of this host in the fleet file.", name="host", required=True)
_RUN_ID: Final = argument("RUN-ID", click.UUID, name="run_id")


class FleetRuns(Document, frozen=True, kw_only=True, tag="openpts.fleet-runs/1"):
    """Runs as they were seen last."""

    runs: tuple[Observation, ...]


class FleetHosts(Document, frozen=True, kw_only=True, tag="openpts.fleet-hosts/1"):
    """Hosts with the drives in their slots."""

    hosts: tuple[HostState, ...]


@click.group(cls=InOrder, subcommand_metavar="COMMAND [ARGS]...")
def fleet() -> None:
    """Run tests on the drives of other hosts by Slurm, each at most once.

    The fleet file names hosts and slots; see many-drives.md. A run has an ID of its own: however
    often it is submitted, it is carried out once. What the host has on its disk decides how it ended.
    """


def backend_of(fleet_file: Path) -> SlurmBackend:
    """What starts runs on the hosts of a fleet file. Raises UsageError."""
    return SlurmBackend(read_fleet(fleet_file))


@fleet.command(
    context_settings={"allow_interspersed_args": False}, short_help="Start a run on the drive in a slot."
)
@with_options
def submit(
    *,
    host: str = option("HOST", "Host, by its name in the fleet file.", required=True),
    slot: str = option("SLOT", "Slot of this host that the drive is in.", required=True),
    serial: str | None = option(
        "SERIAL",
        "Serial number of the drive that has to be there; without it only a simulated drive or a file is.",
    ),
    model: str | None = option("MODEL", "Model that the drive has to be."),
    run_id: UUID | None = option("UUID", "ID of the run, to submit it once more; a new one.", click.UUID),
    labels: dict[str, str] = LABELS,
    fleet_file: Path = FLEET_OPTION,
    as_json: bool = _JSON,
    test_words: tuple[str, ...] = argument("TEST [OPTION]...", click.UNPROCESSED, nargs=-1, required=True),
) -> None:
    """Start TEST with its options on the drive in a slot. DESTROYS ALL DATA on it.

    The host starts it only if the drive in the slot has the serial number that is given. The command returns
    when the scheduler has the run for good, some seconds later.
    """
    _refuse(test_words)
    request = RunRequest(
        run_id=new_run_id() if run_id is None else str(run_id),
        test_words=test_words,
        slot=slot,
        model=model,
        serial=serial,
        host=host,
        labels=labels,
    )
    try:
        _show([backend_of(fleet_file).submit(request)], as_json=as_json)
    except FleetError as error:
        hint = f"see openpts fleet observe {request.run_id} before it is submitted again"
        raise FleetError(f"{error}; {hint}") from error


def _refuse(test_words: Sequence[str]) -> None:
    """Raise UsageError, or click's error, for what the host would refuse when the run's turn has come."""
    from openpts.cli.run import refuse_test_words  # noqa: PLC0415 hosts load what they carry out

    if test_words[0] not in PROCEDURES:
        hint = did_you_mean(test_words[0], PROCEDURES, f"there are {', '.join(PROCEDURES)}")
        raise UsageError(f"there is no test {test_words[0]!r}: {hint}")
    for word in test_words[: test_words.index("--") if "--" in test_words else None]:
        if reason := _OURS.get(name := word.partition("=")[0]):
            raise UsageError(f"{name} {reason.format(test=test_words[0])}")
    refuse_test_words(test_words, "/dev/x")


@fleet.command(short_help="Show where a run stands.")
@with_options
def observe(
    *,
    run_id: UUID = _RUN_ID,
    ask_host: bool = flag("Ask the host also while it measures, which its latencies may show."),
    fleet_file: Path = FLEET_OPTION,
    as_json: bool = _JSON,
) -> None:
    """Show where the run with RUN-ID stands, by its host's journal; while that measures, by the scheduler."""
    _show([backend_of(fleet_file).observe(str(run_id), ask_host=ask_host)], as_json=as_json)


@fleet.command(short_help="Stop a run, and all processes that write for it.")
@with_options
def cancel(*, run_id: UUID = _RUN_ID, fleet_file: Path = FLEET_OPTION, as_json: bool = _JSON) -> None:
    """Stop the run with RUN-ID, and all processes that write for it. What it has recorded stays."""
    _show([backend_of(fleet_file).cancel(str(run_id))], as_json=as_json)


@fleet.command(short_help="Continue a run that was interrupted.")
@together(_RUN_ID, ACCEPT_OPTIONS, *CONSENT_OPTIONS, CONFIRM_NAMESPACE, FLEET_OPTION, _JSON)
def resume(
    *, run_id: UUID, confirm_serial: str | None, fleet_file: Path, as_json: bool, **options: Any
) -> None:
    """Continue the run of RUN-ID that was interrupted, as `openpts resume` does; no scheduler does this.

    DESTROYS ALL DATA on the drive in the slot, which has to be that of the run. Paths, namespaces and members
    that were confirmed when it was submitted need no other word, unless their names have changed.
    --erase-signatures and --overwrite-file are asked for again where something is found.
    """
    backend = backend_of(fleet_file)
    found = backend.observe(str(run_id))
    if found.stage is not RunState.INTERRUPTED or found.request is None:
        raise UsageError(f"run {run_id} is {found.stage}: only one that was interrupted can continue")
    if confirm_serial not in {None, found.request.serial}:
        raise UsageError(f"--confirm-serial {confirm_serial}: run {run_id} is for {found.request.serial}")
    typed = _typed_words(options)
    given = {word.partition("=")[0] for word in typed}
    named = [word for word in found.request.consents if "=" in word and word.partition("=")[0] not in given]
    now = backend.submit(found.request, again=True, resume_words=[*named, *typed])
    failure = None
    if now.stage in {RunState.INTERRUPTED, RunState.FAILED}:
        handed_on = f"; it was submitted with {shlex.join(named)}" if named else ""
        failure = FleetError(f"run {run_id} is {now.stage}: {now.reason}{handed_on}")
    _show([now], as_json=as_json, failure=failure)
    if failure is not None:
        raise failure


def _typed_words(options: dict[str, Any]) -> list[str]:
    """The options of this command that were given, each one word."""
    spelt = {one.name: one.opts[0] for one in click.get_current_context().command.params}
    arguments: list[str] = []
    for name, value in options.items():
        if isinstance(value, bool):
            arguments += [spelt[name]] * value
        elif value is not None:
            values = value if isinstance(value, tuple) else (value,)
            arguments += [f"{spelt[name]}={one}" for one in values]
    return arguments


@fleet.command("list", short_help="List the runs of all hosts.")
@with_options
def list_(*, fleet_file: Path = FLEET_OPTION, as_json: bool = _JSON) -> None:
    """List the runs that the scheduler or a host knows, oldest first."""
    _show(backend_of(fleet_file).list(), as_json=as_json)


@fleet.command(short_help="List the hosts, and the drives in their slots.")
@with_options
def hosts(*, fleet_file: Path = FLEET_OPTION, as_json: bool = _JSON) -> None:
    """List the hosts, and the serial numbers of the drives in their slots where nothing is measured."""
    found = backend_of(fleet_file).hosts()
    if as_json:
        print_document(FleetHosts(hosts=tuple(found)))
        return
    from openpts.cli.console import table_console, table_of  # noqa: PLC0415 help needs none

    table = table_of("=Host", "Up", "=Slot", "=Drive", "Why")
    for host in found:
        slots = host.slots or {"": ""}
        for at, (name, serial) in enumerate(slots.items()):
            what = "empty" if serial is None else serial
            first = (host.name, "yes" if host.is_up else "no") if at == 0 else ("", "")
            table.add_row(*first, name, what, host.reason if at == 0 else "")
    table_console().print(table)


@fleet.command(short_help="Bring run folders from the hosts.")
@with_options
def fetch(
    *,
    run_ids: tuple[UUID, ...] = argument("[RUN-ID]...", click.UUID, nargs=-1),
    out: Path = option("FOLDER", "Where the folders go, each under its run's ID.", FOLDER, required=True),
    wait: bool = flag("Wait until the runs have ended, and nothing measures on their hosts."),
    fleet_file: Path = FLEET_OPTION,
    as_json: bool = _JSON,
) -> int:
    """Bring the folders of runs that have ended, without RUN-ID all of them, from the hosts to FOLDER.

    Nothing is taken from a host while it measures. A folder is there only when it is whole, with the content
    that it has on the host; RUN-ID.SHA256SUMS beside it proves that. What is whole is
    not fetched again.
    """
    from openpts_batch.cli.fleet_fetch import fetched  # noqa: PLC0415 hosts need none of it

    return fetched(
        backend_of(fleet_file), [str(run_id) for run_id in run_ids], out, wait=wait, as_json=as_json
    )


def _show(runs: Sequence[Observation], *, as_json: bool, failure: FleetError | None = None) -> None:
    if as_json:
        print_document(FleetRuns(runs=tuple(runs)), failure)
        return
    if not runs:
        click.echo("no runs")
        return
    from rich.text import Text  # noqa: PLC0415 hosts themselves show no tables

    from openpts.cli.console import table_console, table_of  # noqa: PLC0415 help needs none

    names = ("=Run", "=Stage", "=Host", "=Slot", "=Drive", "=Test", "Why")
    table = table_of(*names, left_out=("Slot", "Host", "Test", "Drive"))
    for run in runs:
        stage = Text(run.stage, style=_COLORS.get(run.stage, ""))
        table.add_row(run.run_id, stage, run.host or "", *_asked_for(run.request), Text(run.reason))
    table_console().print(table)


def _asked_for(request: RunRequest | None) -> tuple[str, str, str]:
    """Slot, drive and test of a run; empty where only the scheduler knows the run."""
    if request is None:
        return "", "", ""
    return request.slot or "", request.serial or request.target or "", request.test_words[0]


def _print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


# What the commands above have hosts do; Slurm types these.


def host_side_of(fleet_file: Path, host: str) -> HostSide:
    """The host of a fleet file that this machine is. Raises UsageError."""
    return HostSide(read_fleet(fleet_file).host(host))


@fleet.command(hidden=True)
@with_options
def start(
    *,
    request: str = argument("REQUEST"),
    job: str | None = option("NUMBER", "The scheduler's own number of this attempt."),
    again: bool = flag("Continue a run that was interrupted."),
    resume_words: tuple[str, ...] = argument("[OPTION]...", click.UNPROCESSED, nargs=-1),
    fleet_file: Path = FLEET_OPTION,
    host: str = _HERE,
) -> None:
    """Carry out the run of REQUEST, a JSON object, or wait for the end of the one that was begun before.

    With --again the OPTIONs are those of `openpts resume`.
    """
    with failing_as(UsageError, "the request makes no sense"):
        requested = msgspec.json.decode(request, type=RunRequest)
    side = host_side_of(fleet_file, host)
    found = side.start(requested, _carry_out, job=job, again=again, resume_words=resume_words)
    click.echo(f"run {found.run_id} is {found.stage} {found.reason}".rstrip())
    if found.stage is not RunState.COMPLETE:
        raise FleetError(f"run {found.run_id} is {found.stage}: {found.reason}")


def _carry_out(args: Sequence[str]) -> None:
    """In this process, so that nothing else of openpts is in memory while it measures."""
    from openpts.cli.resume import resume as resume_command  # noqa: PLC0415 only what is carried out is loaded
    from openpts.cli.run import run as run_command  # noqa: PLC0415

    commands: dict[str, Callable[..., Any]] = {"run": run_command.main, "resume": resume_command.main}
    sys.argv = ["openpts", *args]  # as the record has it
    try:
        commands[args[0]](args=list(args[1:]), prog_name=f"openpts {args[0]}", standalone_mode=False)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from error


@fleet.command(hidden=True)
@with_options
def stop(*, run_id: UUID = _RUN_ID, fleet_file: Path = FLEET_OPTION, host: str = _HERE) -> None:
    """End the run with RUN-ID and all that write for it; nothing starts it from now on."""
    _print_json([host_side_of(fleet_file, host).stop(str(run_id))])


@fleet.command(hidden=True)
@with_options
def journal(
    *,
    run_id: UUID | None = argument("[RUN-ID]", click.UUID, required=False),
    fleet_file: Path = FLEET_OPTION,
    host: str = _HERE,
) -> None:
    """Print what this host knows of the run with RUN-ID, or of all, as a JSON list."""
    known = host_side_of(fleet_file, host).journal
    if run_id is None:
        _print_json(known.all())
    else:
        found = known.settled(str(run_id))
        _print_json([] if found is None else [found])


@fleet.command(hidden=True)
@with_options
def slots(*, fleet_file: Path = FLEET_OPTION, host: str = _HERE) -> None:
    """Print the serial number of what is in each slot, as a JSON object; null where nothing is."""
    _print_json(host_side_of(fleet_file, host).slots())
