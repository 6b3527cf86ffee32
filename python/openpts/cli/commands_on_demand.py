"""Commands that are loaded when they are asked for: a report need not wait for what tests drives."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

import click


class CommandsOnDemand(MutableMapping[str, click.Command]):
    """The commands of a group by name, from their places: ``package.module:attribute``."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            module, attribute = self._places[name].split(":")
            self._loaded[name] = getattr(import_module(module), attribute)
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
