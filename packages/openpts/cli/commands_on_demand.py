"""Commands that are loaded when they are asked for, and the help that loads none."""

import gc
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from openpts.plugins import Kind, imported, listing, load, offers

if TYPE_CHECKING:
    from openpts.procedures.kit.procedure import Procedure


Decorator = Callable[[Any], Any]


def together(*options: Decorator) -> Decorator:
    """Put the options on a command; its help shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class InOrder(click.Group):
    """Tests stand in the order of the specification."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click asks with it
        """Names, first added first."""
        return list(self.commands)


class CommandPlace(NamedTuple):
    """Where a command is, as ``package.module:attribute``, or what makes it; what it does in a few words."""

    where: str | Callable[[], click.Command]
    summary: str | Callable[[], str]


class CommandsOnDemand(MutableMapping[str, click.Command]):
    """The commands of a group by name, from their places."""

    def __init__(self, places: Mapping[str, CommandPlace]) -> None:
        self._places = dict(places)
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            where = self._places[name].where
            gc.disable()  # modules stay: looking for garbage among them takes an eighth of a start
            try:
                command: click.Command = imported(where) if isinstance(where, str) else where()
            finally:
                gc.enable()
            gc.freeze()  # so that it interrupts no run later
            command.short_help = self.summary(name)
            self._loaded[name] = command
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        self._places.pop(name, None)
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._places, **self._loaded})

    def __len__(self) -> int:
        return len({**self._places, **self._loaded})

    def summary(self, name: str) -> str:
        """What a command does in a few words; those of tests load the tests."""
        if name in self._places:
            summary = self._places[name].summary
            return summary if isinstance(summary, str) else summary()
        return self._loaded[name].get_short_help_str()


class OnDemand(InOrder):
    """A group whose help loads none of its commands."""

    commands: CommandsOnDemand

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands.summary(name)) for name in self.list_commands(ctx)])


def of_tests(
    make: "Callable[[Procedure], click.Command]",
    names: Iterable[str],
    others: "Mapping[str, CommandPlace] | None" = None,
) -> CommandsOnDemand:
    """A command for each test, with the question that it answers; and others."""
    from openpts.procedures.registry import PROCEDURES  # noqa: PLC0415 the first page names no test

    def command(name: str) -> click.Command:
        return make(PROCEDURES[name])

    def summary_of(name: str) -> str:
        offer = PROCEDURES.plugged_in.get(name)
        if offer is None or offer.package.is_own:
            return PROCEDURES[name].summary
        return offer.summary

    places = {name: CommandPlace(partial(command, name), partial(summary_of, name)) for name in names}
    return CommandsOnDemand({**places, **(others or {})})


def of_plugins(reserved: Collection[str]) -> dict[str, CommandPlace]:
    """The commands that plug-ins have, each imported on demand."""
    return {
        name: CommandPlace(partial(load, offer), offer.summary)
        for name, offer in offers(Kind.COMMAND).items()
        if name not in reserved and "." not in name
    }


def of_group(group: str) -> dict[str, CommandPlace]:
    """The commands of a group of the core that plug-ins have: those called ``group.NAME``."""
    summaries = listing().subcommands
    return {
        name.removeprefix(f"{group}."): CommandPlace(partial(load, offer), summaries.get(name, offer.summary))
        for name, offer in offers(Kind.COMMAND).items()
        if name.startswith(f"{group}.")
    }


def example_of(command_path: str) -> str:
    """A whole command line for the command of that path, such as ``openpts run iops``."""
    known = listing().arguments
    group = command_path.rpartition(" ")[0]
    of_tests = known.get(group, "").partition(" ")[2] if group in _OF_TESTS else ""
    return f"{command_path} {known.get(command_path) or of_tests}".rstrip()


_OF_TESTS: Final = {"openpts run", "openpts plan"}
"""Groups of whose examples the first word is a test, and the others are good for most."""

_WHAT_IT_IS = (
    "openpts measures what a solid-state drive really does once it has settled, with the tests of the SNIA "
    "Solid State Storage Performance Test Specification 2.0.1."
)
_WHERE_HELP_IS = (
    "A TEST ON A DRIVE DESTROYS ALL DATA ON IT, and only starts with the drive's serial number. "
    "`openpts --help` lists all commands, `openpts run iops --help` explains one."
)

_EXIT_CODES = [
    ("0", "done (the result shows whether steady state was reached)"),
    ("1", "a defect of openpts"),
    ("2", "an argument or option is missing or invalid"),
    ("3", "the target is missing, unusable or too small"),
    ("4", "refused: the device is in use, or not confirmed"),
    ("5", "no usable io_uring, or no fio where it is needed"),
    ("6", "the purge failed or could not be proven"),
    ("7", "an I/O failed during the run; what was measured is kept"),
    ("8", "a run folder can't be written or read"),
    ("9", "idle-flush: the drive did not come to rest in time"),
    ("10", "the drive failed a limit; the run and its report are complete"),
    ("11", "records of a trace were damaged or lost; the others were used"),
    ("12", "a trace is refused"),
    ("13", "no verdict on a limit, such as for too few I/Os or runs; none failed"),
    ("14", "steady state was required and not reached; the run is complete"),
    ("15", "fleet: a host or the scheduler can't be reached, or is set up wrongly"),
    ("130", "stopped by the operator; what was measured is kept"),
]


class FirstPages(OnDemand):
    """The first page, and the first page of the help; neither loads a command.

    ``places`` are the core's own commands; openpts' listing says for what purpose each command is, and what
    those of plug-ins do in a few words.
    """

    def __init__(self, name: str, *, places: Mapping[str, CommandPlace], **settings: Any) -> None:
        self.own_commands = frozenset(places)
        left = {**places, **of_plugins(places)}
        self._purposes: dict[str, dict[str, CommandPlace]] = {}
        for purpose, summaries in listing().commands.items():
            self._purposes[purpose] = {
                command: left.pop(command)._replace(**({"summary": summary} if summary else {}))
                for command, summary in summaries.items()
                if command in left
            }
        self._purposes["Commands"] = {command: left.pop(command) for command in places if command in left}
        self._purposes["Plug-ins"] = left
        commands = CommandsOnDemand({name: at for of in self._purposes.values() for name, at in of.items()})
        super().__init__(name, commands=commands, **settings)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name; its help ends with its examples."""
        command = super().get_command(ctx, name)
        examples = listing().examples.get(name)
        if command is not None and examples and not command.epilog:
            # click wraps no paragraph behind a backspace: a command line stays whole
            lines = [f"{one}\n{textwrap.indent(textwrap.fill(text, 54), '  ')}" for one, text in examples]
            command.epilog = "\n".join(["Examples:", "", "\b", *lines])
        return command

    def first_page(self, context: click.Context) -> str:
        """What is shown where no command was given: what openpts is, what to try, and where help is."""
        formatter = context.make_formatter()
        _write_wrapped(formatter, _WHAT_IT_IS)
        formatter.write_paragraph()
        if examples := listing().first_examples:
            _write_wrapped(formatter, "Four commands to try; none of them erases anything:")
            formatter.write_paragraph()
            with formatter.indentation():
                _write_examples(formatter, examples)
        formatter.write_paragraph()
        _write_wrapped(formatter, _WHERE_HELP_IS)
        return formatter.getvalue().rstrip("\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click calls with it
        """A section for each purpose, a line for each command."""
        width = max(map(len, self.commands))  # one column for all sections
        for purpose, names in self._purposes.items():
            rows = [(f"{name:{width}}", self.commands.summary(name)) for name in names]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click calls with it
        """Examples and exit codes."""
        with formatter.section("Examples; the help of each command has more"):
            _write_examples(formatter, (*listing().first_examples, *listing().last_examples))
        with formatter.section("Exit codes"):
            formatter.write_dl(_EXIT_CODES)


def _write_wrapped(formatter: click.HelpFormatter, text: str) -> None:
    indent = f"{'':{formatter.current_indent}}"
    wrapped = click.wrap_text(text, formatter.width, initial_indent=indent, subsequent_indent=indent)
    formatter.write(f"{wrapped}\n")


def _write_examples(formatter: click.HelpFormatter, examples: Iterable[tuple[str, str]]) -> None:
    """Each with what it does below it; a command line is never wrapped, so that it can be copied."""
    for command, text in examples:
        formatter.write(f"{'':{formatter.current_indent}}{command}\n")
        with formatter.indentation():
            _write_wrapped(formatter, text)
