"""The command line: a door. It turns words into an order, and what happened into text and an exit code.

Commands are loaded when they are asked for. Reports take long to load, and help needs none: the commands that
make them load them first thing.
"""

import os
import resource
import shlex
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from openpts.cli.commands_on_demand import CommandPlace, FirstPages, example_of
from openpts.cli.standard_streams import lasting, open_closed_streams, print_document, wrapped
from openpts.errors import OpenptsError, RecordError
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.vocabulary.document import Failure

_USAGE_EXIT_CODE = 2
_OF_FIO: Final = {
    "--iodepth": ("--qd",),
    "--numjobs": ("--tc",),
    "--bs": ("--block-sizes", "--block-size"),
    "--rwmixread": ("--read-pcts", "--read-pct"),
    "--runtime": ("--step-seconds",),
    "--ioengine": ("--io-path",),
}
"""What does the same as an option of fio."""
_MEANT: Final = {
    "list": ("devices", "run --help", "sim list", "attach"),
    "info": ("devices", "doctor", "report RUN"),
    "bench": ("run iops --help", "run benchmarks --help", "io --help"),
}
"""Commands that answer a word typed first, which is none."""
_NEEDLESS: Final = {"--direct": "leave it out, as no I/O goes through the page cache"}
"""Options of fio that nothing corresponds to."""


def _fail(*reasons: str, exit_code: int, as_json: bool, hints: Sequence[str] = ()) -> NoReturn:
    """End with a line on stderr for each reason; with ``--json`` the same as an object on stdout.

    Hints stand below the reasons, for those who type.
    """
    lines = [" ".join(reason.split()) for reason in reasons]
    for line in lines:
        click.echo(wrapped(f"openpts: {line}", sys.stderr), err=True)
    for hint in hints:
        click.echo(wrapped(f"  {hint}", sys.stderr, indent="    "), err=True)
    if as_json:
        print_document(Failure(error="; ".join(lines), exit_code=exit_code), indent=None)
    sys.exit(exit_code)


def _fail_for_words(error: click.ClickException, *, as_json: bool) -> NoReturn:
    """End for words that click refuses: with the nearest ones that there are, or usage and example."""
    reason = error.format_message()
    hints: tuple[str, ...] = ()
    match error:
        case click.NoSuchCommand(ctx=click.Context(parent=None)) if hints := _meant(error.command_name):
            reason = f"No command is called '{error.command_name}'. These may be meant:"
        case click.NoSuchCommand(ctx=click.Context() as context) if homes := _homes(error, context):
            reason = f"{error.message} Did you mean {', '.join(homes)}?"
        case click.NoSuchCommand(ctx=click.Context() as context):
            reason = f"{_unknown_word(error, context)} `{context.command_path} --help` lists all."
            hints = () if error.possibilities else _how_to_call(context)
        case click.NoSuchOption(ctx=click.Context() as context):
            reason = f"{_unknown_option(error, context)} `{context.command_path} {_help(context)}` lists all."
            hints = () if error.possibilities else _how_to_call(context)
        case click.MissingParameter(ctx=click.Context() as context):
            hints = _how_to_call(context)
        case click.BadParameter():  # the reason names the option and what it takes
            reason = reason.replace("a valid integer range", "a whole number")
            reason = reason.replace("a valid float range", "a number")
        case click.UsageError(ctx=click.Context() as context):
            hints = _how_to_call(context)
    _fail(reason, exit_code=_USAGE_EXIT_CODE, as_json=as_json, hints=hints)


def _meant(word: str) -> tuple[str, ...]:
    """The command lines for a word in the place of a command: for a target, what can be done with it."""
    if word in _MEANT:
        return tuple(f"openpts {words}" for words in _MEANT[word])
    if not word.startswith(("/dev/", "sim:", "file:")):
        return ()
    target, is_drive = shlex.quote(word), word.startswith("/dev/")
    return (
        *([f"openpts devices {target}  (show whether it can be tested)"] if is_drive else []),
        f"openpts io {target}  (read from it; nothing is written)",
        f"openpts plan iops {target}  (print what a test will do)",
        f"openpts run iops {target}{' --confirm-serial SERIAL' if is_drive else ''}  (ERASE and test it)",
    )


def _help(context: click.Context) -> str:
    """The option that lists all options of the command."""
    return next(
        (name for one in context.command.params for name in one.opts if name == "--help-all"), "--help"
    )


def _unknown_word(error: click.NoSuchCommand, context: click.Context) -> str:
    """A word in the place of a command; in that of a test, it may be the target of one that was left out."""
    group = context.command
    if not isinstance(group, click.Group) or not group.subcommand_metavar.startswith("TEST"):
        return error.format_message()
    if set(":/") & set(error.command_name):
        return f"Missing TEST before '{error.command_name}'."
    return error.format_message().replace("No such command", "No such test", 1)


def _unknown_option(error: click.NoSuchOption, context: click.Context) -> str:
    """With what does the same as an option of fio, or the name that is most like it."""
    known = {name for parameter in context.command.get_params(context) for name in parameter.opts}
    of_fio = f"No such option '{error.option_name}', which is fio's:"
    for own in _OF_FIO.get(error.option_name, ()):
        if own in known:
            return f"{of_fio} use {own}."
    if error.option_name in _NEEDLESS and "--io-path" in known:
        return f"{of_fio} {_NEEDLESS[error.option_name]}."
    from openpts.did_you_mean import nearest_word  # noqa: PLC0415 most starts need none

    near = nearest_word(error.option_name, error.possibilities or ())
    return f"{error.message} Did you mean '{near}'?" if near else error.message


def _how_to_call(context: click.Context) -> tuple[str, ...]:
    pieces = context.command.collect_usage_pieces(context)
    usage = " ".join([context.command_path, *pieces])
    return (f"Usage: {usage}", f"Example: {example_of(context.command_path)}")


def _homes(error: click.NoSuchCommand, context: click.Context) -> list[str]:
    """Where a word that is no command of openpts is one: ``openpts run iops`` for ``iops``."""
    root = context.command
    if context.parent is not None or not isinstance(root, click.Group):
        return []
    groups = [name for name, one in root.commands.items() if isinstance(one, click.Group)]
    return [
        f"`{context.command_path} {name} {error.command_name}`"
        for name in groups
        if error.command_name in getattr(root.commands[name], "commands", ())
    ]


# All are loaded when they are asked for, which for some takes half a second.
_PLACES: Final = {
    "plan": CommandPlace(
        "openpts.cli.plan:plan_command", "Print what a test will do, without touching the target."
    ),
    "run": CommandPlace("openpts.cli.run:run", "Run a test. DESTROYS ALL DATA on the target."),
    "resume": CommandPlace("openpts.cli.resume:resume", "Continue a run or a suite that was cut off."),
    "report": CommandPlace(
        "openpts.cli.report:report", "Rebuild the report of runs from their folders alone."
    ),
}


@click.group(
    cls=FirstPages,
    places=_PLACES,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(None, "-V", "--version", package_name="openpts", message="openpts %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Measure what a solid-state drive really does once it has settled.

    openpts runs the tests of the SNIA Solid State Storage Performance Test Specification 2.0.1. It purges
    and preconditions the device, applies a defined stimulus until performance is steady, and records
    every I/O. It writes a report that a second lab can repeat.

    A TEST ON A DRIVE DESTROYS ALL DATA ON IT. It starts only if nothing uses the drive and its serial number
    is given.
    """
    if context.invoked_subcommand is None:
        click.echo(cli.first_page(context))


def main() -> None:
    """Run the command line and exit with the code that its help lists."""
    open_closed_streams()
    if "_OPENPTS_COMPLETE" in os.environ:  # click answers a shell in bytes, which no stream of ours takes
        cli.main(prog_name="openpts")
    with lasting("stderr"), lasting("stdout") as output:
        try:
            _run()
        except SystemExit as end:
            if output is not None:
                sys.stdout.flush()
                if output.lost:
                    click.echo(f"openpts: the output was lost: {output.lost}", err=True)
                    sys.exit(end.code or 1)
            raise


def _run() -> None:
    as_json = "--json" in sys.argv[1:]
    try:
        with terminate_as_interrupt():
            exit_code = cli.main(prog_name="openpts", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        example = f"Example: {example_of(error.ctx.command_path)}"
        _fail("Missing command.", exit_code=_USAGE_EXIT_CODE, as_json=False, hints=(example,))
    except click.ClickException as error:
        _fail_for_words(error, as_json=as_json)
    except click.Abort:
        _fail("stopped by the operator", exit_code=130, as_json=as_json)
    except OpenptsError as error:
        _fail_for_memory(error.__cause__, as_json=as_json)
        _fail(*error.complaints, exit_code=error.exit_code, as_json=as_json and not error.is_printed)
    except PermissionError as error:
        if error.filename is None:
            raise
        reason = f"can't access {error.filename}: {error.strerror}"
        _fail(reason, exit_code=RecordError.exit_code, as_json=as_json)
    except (ImportError, MemoryError) as error:
        _fail_for_memory(error, as_json=as_json)
        raise
    sys.exit(exit_code if isinstance(exit_code, int) else 0)


def _fail_for_memory(error: BaseException | None, *, as_json: bool) -> None:
    """End if it was the limit of a shell that let an import fail, also of what comes in by the door."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or not isinstance(error, ImportError | MemoryError):
        return
    reason = f"can't continue with ulimit -v {limit // 1024}: {error or 'out of memory'}; raise it"
    _fail(reason, exit_code=1, as_json=as_json)
