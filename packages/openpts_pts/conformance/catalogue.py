"""The requirements of the specification, each with its level, its clause and a short text.

Those of a test are in its folder, those of all tests, of reports and of the tool in catalogue/. An entry
there that names ways of judging ``steady_state`` binds only the tests that judge it so.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.verdict import SteadyState
from openpts_pts import cbw, dirth, hir, iops, lat, tp, wsat, xsr

PTS: Final[Mapping[str, Procedure]] = {
    folder.PROCEDURE.name: folder.PROCEDURE for folder in (iops, tp, lat, wsat, hir, xsr, cbw, dirth)
}
"""By name, in the order of the specification."""


TESTS: Final = tuple(PTS)
"""The specification's tests by short name, in its order (PTS 7 to 14)."""

SECTION_TITLES: Final = {
    "general": "All tests (sections 1 to 4)",
    "report": "Reports (section 5, Annex A)",
    "tool": "Test tool (section 6)",
    **{
        name: f"{procedure.title} ({procedure.source.removeprefix('PTS ')})"
        for name, procedure in PTS.items()
    },
}
"""The files of the catalogue, in the order of the specification."""

GUIDES: Final[Mapping[str, str]] = {
    "solidigm": "Solidigm P41 Plus performance evaluation guide, rev. 001",
    "tkperf": "TKperf 2.2, test report of an Intel SSD DC P4610",
    "lsi": 'LSI, "Don\'t let your favorite benchmarks lie to you"',
    "hyperstone": 'Hyperstone, "The key to interpreting SSD performance numbers"',
}
"""Titles of the guides beside the specification, by their names; practice.py has their requirements."""

_RECORD: Final = "record"


class Level(StrEnum):
    """How far a requirement binds (PTS 2.3)."""

    SHALL = "shall"
    SHOULD = "should"
    MAY = "may"


class Need(msgspec.Struct, frozen=True):
    """What must have happened in a run before a requirement can be fulfilled.

    ``what`` is a phase of a test (vocabulary.phase), ``number`` one of its numbers, or None for any; or
    ``record`` (nothing but that the run began), ``steps`` (any), ``purge``, ``cache``, ``window`` (a full
    measurement window), ``tracking_window`` (the same of tracking rounds) or ``result``.
    """

    what: str
    number: int | None = None


class Requirement(msgspec.Struct, frozen=True):
    """One requirement; ``id`` is that of docs/conformance.md, ``tests`` are the tests that it binds.

    ``clause`` is its place in the specification, ``text`` what it requires, in openpts' words.
    """

    id: str
    section: str
    level: Level
    clause: str
    text: str
    needs: Need
    tests: tuple[str, ...]


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    level: Level
    clause: str
    text: str
    needs: str = _RECORD
    steady_state: tuple[SteadyState, ...] = tuple(SteadyState)


@cache
def catalogue() -> tuple[Requirement, ...]:
    """All requirements, in the order of the specification's sections and of their numbers."""
    return tuple(requirement for section in SECTION_TITLES for requirement in _section(section))


@cache
def by_id() -> dict[str, Requirement]:
    """The same, by their IDs."""
    return {requirement.id: requirement for requirement in catalogue()}


def _section(section: str) -> tuple[Requirement, ...]:
    if section in TESTS:
        file = resources.files(PTS[section].package) / "requirements.toml"
    else:
        file = resources.files("openpts_pts.conformance") / "catalogue" / f"{section}.toml"
    entries = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, _Entry])
    tests = (section,) if section in TESTS else TESTS
    return tuple(
        Requirement(
            id=id_,
            section=section,
            level=entry.level,
            clause=entry.clause,
            text=entry.text,
            needs=_need(entry.needs),
            tests=tuple(name for name in tests if PTS[name].conditions.steady_state in entry.steady_state),
        )
        for id_, entry in entries.items()
    )


def _need(text: str) -> Need:
    what, _, number = text.partition(":")
    return Need(what, int(number) if number else None)
