"""What other programs read while a run is in progress: options, and listeners as long as the command runs."""

import functools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from openpts.cli.commands_on_demand import Decorator, together
from openpts.cli.options import OUTPUT, flag
from openpts.cli.standard_streams import VERBOSE, LastingOutput
from openpts.errors import OpenptsError, UsageError, failing_as
from openpts.output_files import refuse_run_folder
from openpts.plugins import Kind, Offer, calling, load, offers

if TYPE_CHECKING:
    from openpts.runner.events import Listener

_OUTPUTS: Final = "openpts.cli.live_outputs.outputs"
EVENTS: Final = "--events"
OCP_DIAG: Final = "--ocp-diag"
METRICS: Final = "--metrics"
STDOUT: Final = "-"
_INTERRUPTED: Final = 130


def log_stream(*, as_json: bool) -> IO[str]:
    """Where the log goes: not to standard output if that is taken by what programs read."""
    return sys.stderr if as_json or STDOUT in given_outputs().values() else sys.stdout


def given_outputs() -> dict[str, str]:
    """Where the command's options put what happens, by option."""
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta.get(_OUTPUTS, {})


def _with_outputs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with its options' listeners."""

    @functools.wraps(command)
    def wrapped(*args: Any, **options: Any) -> Any:
        places = {option: options.pop(option.strip("-").replace("-", "_")) for option in _offered()}
        chosen = {option: place for option, place in places.items() if place is not None}
        _check(chosen, as_json=options.get("as_json", False))
        click.get_current_context().meta[VERBOSE] = options.pop("verbose")
        if options.pop("detach"):
            _detach(chosen, as_json=options.get("as_json", False))
            return None
        from openpts.cli.folder_events import LISTENERS, folder_events  # noqa: PLC0415 help needs nothing that runs

        opened: dict[str, AbstractContextManager[Listener]] = {}
        if not _has_drives_apart(options):
            opened = {option: _opened(_offered()[option], option, place) for option, place in chosen.items()}
            opened["the run folder"] = folder_events()
        with ExitStack() as open_outputs:
            meta = click.get_current_context().meta
            meta[_OUTPUTS] = chosen
            meta[LISTENERS] = tuple(
                open_outputs.enter_context(_in_background(output, name)) for name, output in opened.items()
            )
            return command(*args, **options)

    return wrapped


def _has_drives_apart(options: dict[str, Any]) -> bool:
    """Whether the command is on several drives, whose runs have outputs of their own (see batch_outputs)."""
    from openpts.record.batch import has_drives_apart  # noqa: PLC0415 help needs nothing that runs

    several = len(options.get("targets", ())) > 1 or options.get("drives") is not None
    return several or ("folder" in options and has_drives_apart(options["folder"]))


_OPTIONS: Final = {
    EVENTS: (
        "FILE",
        "Append what happens to this file as JSON lines, or write them to standard output (-); see "
        "docs/interfaces.md.",
    ),
    OCP_DIAG: ("FILE", "Write OCP Test & Validation output 2.0 to this new file, or to standard output (-)."),
    METRICS: (
        "ADDRESS:PORT|FILE",
        "Serve metrics of the run for Prometheus at this address, or keep them in a file (.prom) for "
        "node_exporter.",
    ),
}
"""Options of openpts' own outputs in the order of the help: what they take and do."""


def _offered() -> dict[str, Offer | None]:
    """The outputs by their options: events, which the core has, and those of plug-ins."""
    found = {f"--{name}": offer for name, offer in offers(Kind.OUTPUT, reserved={EVENTS.strip("-")}).items()}
    return {EVENTS: None} | {
        name: found[name] for name in dict.fromkeys((*_OPTIONS, *found)) if name in found
    }


def _option(name: str, offer: Offer | None) -> Decorator:
    metavar, help_text = _OPTIONS.get(name) or ("PLACE", "" if offer is None else offer.summary)
    return click.option(name, metavar=metavar, help=help_text)


OUTPUT_OPTIONS: Final[Decorator] = together(
    flag("Make no report; see `openpts report`.", name="--no-report", usual=OUTPUT),
    flag("Print one JSON object; the log goes to stderr.", name="--json as_json", usual=OUTPUT),
    flag("Return when it has begun; see `openpts attach`.", name="--detach", usual=OUTPUT),
    flag("List each deviation in the log.", name="-v --verbose"),
    *(_option(name, offer) for name, offer in _offered().items()),
    _with_outputs,
)


def _detach(chosen: dict[str, str], *, as_json: bool) -> None:
    from openpts.cli.detach import OPTION, start_detached  # noqa: PLC0415 help needs nothing that runs

    if takers := [f"{option} -" for option, place in chosen.items() if place == STDOUT]:
        raise UsageError(f"{takers[0]} writes to this terminal, which {OPTION} leaves: name a file")
    if as_json:
        raise UsageError(
            f"--json prints what was measured, for which {OPTION} does not wait: `openpts report RUN --json` "
            "prints it later"
        )
    start_detached()


def _check(chosen: dict[str, str], *, as_json: bool) -> None:
    takers = [f"{option} -" for option in (EVENTS, OCP_DIAG) if chosen.get(option) == STDOUT]
    takers += ["--json"] if as_json else []
    if len(takers) > 1:
        raise UsageError(f"{' and '.join(takers)} both write to standard output: name a file for one of them")


@contextmanager
def _in_background(opened: "AbstractContextManager[Listener]", name: str) -> "Iterator[Listener]":
    """A listener in a thread of its own, also for the command's beginning and its end."""
    from importlib.metadata import version  # noqa: PLC0415 help needs nothing that runs

    from openpts.cli.folder_events import background_listener  # noqa: PLC0415 likewise
    from openpts.runner.event_lines import ProgramEnded, ProgramStarted  # noqa: PLC0415 likewise

    with opened as output, background_listener(nullcontext(output), name=name) as on_event:
        on_event(ProgramStarted(program_version=version("openpts"), command_line=tuple(sys.argv[1:])))
        try:
            yield on_event
        except OpenptsError as error:
            on_event(ProgramEnded(exit_code=error.exit_code, error="; ".join(error.complaints)))
            raise
        except (KeyboardInterrupt, click.Abort):
            on_event(ProgramEnded(exit_code=_INTERRUPTED, error="stopped by the operator"))
            raise
        except click.ClickException as error:
            on_event(ProgramEnded(exit_code=error.exit_code, error=error.format_message()))
            raise
        else:
            on_event(ProgramEnded(exit_code=0, error=None))


def _opened(offer: Offer | None, option: str, place: str) -> "AbstractContextManager[Listener]":
    if offer is None:
        return _events(option, place)
    with calling(offer):
        output: AbstractContextManager[Listener] = load(offer)(option, place)
        return output


@contextmanager
def _events(option: str, place: str) -> "Iterator[Listener]":
    from openpts.runner.event_stream import EventStream  # noqa: PLC0415 help needs nothing that runs

    with opened_output(option, place) as write:
        yield EventStream(write).on_event


_EVENTS_BEGIN: Final = b'{"kind":"stream_started",'


def warn_of_loss(option: str, place: str, lost: str) -> None:
    """Say at the end of a run that an output is incomplete."""
    if lost:
        click.echo(f"openpts: {option} {place} is incomplete: {lost}", err=True)


@contextmanager
def opened_output(option: str, place: str, *, new: bool = False) -> Iterator[Callable[[bytes], object]]:
    """A stream into a new file, or behind what is in one of its kind.

    Raises UsageError for what can't be written, for a device, for a link, and for a file of other content:
    it may be a disk's image that is in use.
    """
    descriptor = sys.stdout.fileno() if place == STDOUT else _descriptor(option, place, new=new)
    output = LastingOutput(descriptor)
    try:
        yield output.write
    finally:
        warn_of_loss(option, place, output.lost)
        if place != STDOUT:
            os.close(descriptor)


def _descriptor(option: str, place: str, *, new: bool) -> int:
    path = Path(place)
    refuse_run_folder(path)
    is_device = UsageError(f"{option} {place} is a block device: name a file")
    with failing_as(UsageError, f"can't write {option} {place}"):
        # /dev/stderr and /dev/fd/63, the shell's >(command), are links to what is open already
        if path.is_symlink() and not (
            path.parent == Path("/dev") or path.parent.resolve().is_relative_to("/proc")
        ):
            raise UsageError(f"{option} {place} is a symbolic link: name the file itself")
        if path.is_block_device():
            raise is_device
        if not new and path.is_file():
            with path.open("rb") as file:
                if file.read(len(_EVENTS_BEGIN)) not in {b"", _EVENTS_BEGIN}:
                    raise UsageError(f"{option} {place} holds something else than events: name a new file")
        try:
            if new:
                descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            else:
                descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except FileExistsError as error:
            raise UsageError(f"can't write {option} {place}: the file exists; name a new one") from error
    if stat.S_ISBLK(os.fstat(descriptor).st_mode):  # the name changed its meaning since
        os.close(descriptor)
        raise is_device
    return descriptor
