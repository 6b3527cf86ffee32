"""Commands that are made when they are asked for: help and a report need not wait for what tests drives."""

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from openpts.cli.help_order import InOrder
from openpts.plugins import Kind, imported, listing, load, offers

if TYPE_CHECKING:
    from openpts.procedures.kit.procedure import Procedure


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
            command = _made(partial(imported, where) if isinstance(where, str) else where)
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


class OnDemand(click.Group):
    """A group whose help loads none of its commands."""

    commands: CommandsOnDemand

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands.summary(name)) for name in self.list_commands(ctx)])


class OnDemandInOrder(OnDemand, InOrder):
    """A group on demand whose commands stand in the order in which they were added."""


def of_tests(
    make: "Callable[[Procedure], click.Command]",
    names: Iterable[str],
    summary: str = "{0.title} test ({0.source}).",
    others: "Mapping[str, CommandPlace] | None" = None,
) -> CommandsOnDemand:
    """A command for each test, and others; ``summary`` is the form of what it does in a few words."""
    from openpts.procedures.registry import PROCEDURES  # noqa: PLC0415 the first page names no test

    def command(name: str) -> click.Command:
        return make(PROCEDURES[name])

    def summary_of(name: str) -> str:
        offer = PROCEDURES.plugged_in.get(name)
        if offer is None or offer.package.is_own:
            return summary.format(PROCEDURES[name])
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


def _made(make: Callable[[], click.Command]) -> click.Command:
    """Modules stay: looking for garbage among them takes an eighth of a start, and later interrupts a run."""
    gc.disable()
    try:
        command = make()
    finally:
        gc.enable()
    gc.freeze()
    return command
