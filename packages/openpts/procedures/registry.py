"""All tests: each comes in by the door, openpts' own first."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Final

from openpts.errors import PluginError, RecordError
from openpts.escaped_text import visible
from openpts.plugins import InstalledPlugin, Kind, Offer, listing, load, offers, packages
from openpts.procedures.kit.procedure import Procedure

RESERVED: Final = "all"
"""The name of the suite stands beside those of tests, and is none."""


class _Tests(Mapping[str, Procedure]):
    """Names come from the metadata of plug-ins; a test is imported when it is asked for by its name."""

    def __getitem__(self, name: str) -> Procedure:
        """Raises PluginError for a test that can't be loaded."""
        found = _loaded(self.plugged_in[name])
        if isinstance(found, PluginError):
            raise found
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self.plugged_in

    def __len__(self) -> int:
        return len(self.plugged_in)

    def __contains__(self, name: object) -> bool:
        return name in self.plugged_in

    @property
    def plugged_in(self) -> Mapping[str, Offer]:
        """The tests, not loaded; those of others than openpts come last."""
        return _plugged_in(packages())


PROCEDURES: Final = _Tests()
"""Every test by name, in the order in which tests are listed."""


def suite() -> list[str]:
    """The tests that `openpts run all` runs where none are named."""
    chosen = listing().suite
    return [name for name in PROCEDURES if name in chosen or not chosen]


def sound_tests() -> Iterator[Procedure]:
    """Every test that can be loaded, in their order; `openpts doctor` names the others."""
    for name in PROCEDURES:
        with suppress(PluginError):
            yield PROCEDURES[name]


def in_test_order(names: Collection[str]) -> list[str]:
    """Names of tests, each once, as tests are listed; those that no installed package has come last."""
    return [*(test for test in PROCEDURES if test in names), *sorted(set(names) - set(PROCEDURES))]


def procedure_of(name: str) -> Procedure:
    """The test of a record.

    Raises RecordError for one that no installed package has, PluginError for one of a broken plug-in.
    """
    if name not in PROCEDURES:
        raise RecordError(f"no report for the test {visible(name)!r}; known: {', '.join(PROCEDURES)}")
    return PROCEDURES[name]


@cache
def _plugged_in(_packages: tuple[InstalledPlugin, ...]) -> Mapping[str, Offer]:
    found = offers(Kind.PROCEDURE, {RESERVED})
    return {name: found[name] for name in dict.fromkeys((*listing().tests, *found)) if name in found}


@cache
def _loaded(offer: Offer) -> Procedure | PluginError:
    """A failure as well is found once: an import that hangs is waited for once."""
    try:
        test: Procedure = load(offer)
    except PluginError as error:
        return error
    return test
