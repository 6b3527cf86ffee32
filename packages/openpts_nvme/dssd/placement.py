"""Each requirement of the OCP Datacenter NVMe SSD Specification 2.7, with what can be done about it."""

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from msgspec import Struct

SPECIFICATION: Final = "OCP Datacenter NVMe SSD Specification 2.7"
_RANGES: Final = re.compile(r"(?P<prefix>.+)-(?P<numbers>\d[\d.,]*)")


class RequirementKind(StrEnum):
    """HOST: checked by the host, with evidence; DECLARED: the drive may deny it in log C5h; OUT: neither."""

    HOST = "host"
    DECLARED = "declared"
    OUT = "out"


class DssdRequirement(Struct, frozen=True):
    """What a requirement asks, in openpts' own words; ``reason`` is the code of one that is OUT."""

    identifier: str
    section: str
    words: str
    kind: RequirementKind
    reason: str = ""

    @property
    def why_not(self) -> str:
        """Why the host cannot check it; empty if it can."""
        return reasons()[self.reason] if self.reason else ""


def identifiers(text: str) -> Iterator[str]:
    """Identifiers that a key of the tables names: ``SERRI-1..9`` nine, ``TELDF-34,36`` two."""
    found = _RANGES.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no identifier of a requirement, such as SMART-27 or SERRI-1..9")
    for part in found["numbers"].split(","):
        first, _, last = part.partition("..")
        for number in range(int(first), int(last or first) + 1):
            yield f"{found['prefix']}-{number}"


def natural(identifier: str) -> tuple[str, int]:
    """The order of identifiers: by prefix, then by number."""
    prefix, _, number = identifier.rpartition("-")
    return prefix, int(number)


@cache
def reasons() -> dict[str, str]:
    """Why requirements cannot be checked, by code."""
    found: dict[str, str] = tomllib.loads(files(__package__).joinpath("reasons.toml").read_text())
    return found


def read_all() -> Iterator[DssdRequirement]:
    """Every placement as it is written, in the specification's order."""
    folder = files(__package__).joinpath("requirements")
    for name in sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml")):
        for section, placed in tomllib.loads(folder.joinpath(name).read_text()).items():
            for key, text in placed.items():
                yield from _placed(section, key, text)


def _placed(section: str, key: str, text: str) -> Iterator[DssdRequirement]:
    first, _, words = text.partition(" ")
    if first in {RequirementKind.HOST, RequirementKind.DECLARED}:
        kind, reason = RequirementKind(first), ""
    elif first in reasons():
        kind, reason = RequirementKind.OUT, first
    else:
        raise ValueError(f"{key} is placed as {first!r}: use host, declared, or a code of reasons.toml")
    for identifier in identifiers(key):
        yield DssdRequirement(identifier, section, words, kind, reason)


@cache
def requirements() -> dict[str, DssdRequirement]:
    """All requirements by their identifiers, in the specification's order."""
    return {each.identifier: each for each in read_all()}
