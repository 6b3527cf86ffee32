"""All tests: those of the specification, which are named here, and those of plug-ins, openpts' own first."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final, Union

from openpts.errors import PluginError, RecordError
from openpts.escaped_text import visible
from openpts.plugins import Kind, Offer, Package, load, offers, packages
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts import cbw, dirth, hir, iops, lat, tp, wsat, xsr

PTS: Final[Mapping[str, Procedure]] = {
    folder.PROCEDURE.name: folder.PROCEDURE for folder in (iops, tp, lat, wsat, hir, xsr, cbw, dirth)
}
"""The eight tests by name, in the order of the specification."""

_LISTED: Final = (
    *(
        "fill",
        "sustained",
        "entropy",
        "benchmarks",
        "precon",
        "thermal",
        "lifetime",
        "powercut",
        "trim",
        "qos",
    ),
    *("workload", "replay", "app", "check", "ocp", "pstates"),
)
"""The order of openpts' own plug-ins in help and reports: metadata have none."""

RESERVED: Final = "all"
"""The name of the suite stands beside those of tests, and is none."""


class _Tests(Mapping[str, Procedure]):
    """Names come from the metadata of plug-ins; a test is imported when it is asked for by its name."""

    def __getitem__(self, name: str) -> Procedure:
        """Raises PluginError for a test that can't be loaded."""
        if name in PTS:
            return PTS[name]
        found = _loaded(self.plugged_in[name])
        if isinstance(found, PluginError):
            raise found
        return found

    def __iter__(self) -> Iterator[str]:
        yield from (*PTS, *self.plugged_in)

    def __len__(self) -> int:
        return len(PTS) + len(self.plugged_in)

    def __contains__(self, name: object) -> bool:
        return name in PTS or name in self.plugged_in

    @property
    def plugged_in(self) -> Mapping[str, Offer]:
        """The tests of plug-ins, not loaded; those of others come last."""
        return _plugged_in(packages())


PROCEDURES: Final = _Tests()
"""Every test by name, in the order in which tests are listed."""

if TYPE_CHECKING:
    from openpts.fields.conditions import Conditions

    AnyConditions = Conditions
else:
    AnyConditions = Union[tuple(procedure.conditions for procedure in PTS.values())]  # noqa: UP007 made of a tuple
"""The conditions of a test, distinguished by their tag: what a record has."""


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
def _plugged_in(_packages: tuple[Package, ...]) -> Mapping[str, Offer]:
    found = offers(Kind.PROCEDURE, {*PTS, RESERVED})
    return {name: found[name] for name in dict.fromkeys((*_LISTED, *found)) if name in found}


@cache
def _loaded(offer: Offer) -> Procedure | PluginError:
    """A failure as well is found once: an import that hangs is waited for once."""
    try:
        test: Procedure = load(offer)
    except PluginError as error:
        return error
    return test
