"""Holds a folder against its seal: who has signed it, each file, and each figure that the statement has."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.escaped_text import visible_line
from openpts.record.writer import SEAL_NAMES
from openpts.run_folder_files import read_file
from openpts_line.seal.signature import signer_of
from openpts_line.seal.statement import described, digests_of, read_statement

_MOST_NAMED: Final = 3


class Seal(Struct, frozen=True):
    """What a seal that holds says. ``signers`` are names of one key; ``sealed_at`` is their word for it."""

    signers: tuple[str, ...]
    key: str
    sealed_at: datetime
    files: int
    runs: dict[str, Any]


def verify_seal(folder: Path, signers: Path, revoked: Path | None) -> Seal:
    """The seal of a folder, if it holds and each figure follows from the records. Raises RecordError."""
    seal = check_seal(folder, signers, revoked)
    _refuse(f"the seal of {folder} states what does not follow", _untrue("", seal.runs, described(folder)))
    return seal


def check_seal(folder: Path, signers: Path, revoked: Path | None) -> Seal:
    """The seal of a folder, if all files are those that were sealed, and a signer of ``signers`` did so.

    ``revoked`` has keys that are refused whenever they signed. Raises RecordError, UsageError.
    """
    what = f"{folder} has no seal, which is {' and '.join(SEAL_NAMES)}"
    with failing_as(RecordError, what, "`openpts seal` makes one"):
        content, signature = (read_file(folder, name) for name in SEAL_NAMES)
    with failing_as(RecordError, f"{folder / SEAL_NAMES[0]} is no statement of openpts"):
        statement = read_statement(content)
    sealed = {one.name: one.digest["sha256"] for one in statement.subject if one.digest}
    _refuse(f"{folder} is not as it was sealed", _faults(sealed, digests_of(folder)))
    moment = statement.predicate.sealed_at
    try:
        names, key = signer_of(content, signature, moment, signers, revoked)
    except RecordError as error:
        raise RecordError(f"the seal of {folder} does not count: {error}") from error
    return Seal(names, key, moment, len(sealed), statement.predicate.runs)


def _faults(sealed: dict[str, str], found: dict[str, str]) -> Iterator[str]:
    for name in sorted(sealed.keys() | found.keys()):
        if sealed.get(name) != found.get(name):
            what = "is missing" if name not in found else "was changed" if name in sealed else "was added"
            yield f"{visible_line(name)} {what}"


def _untrue(place: str, stated: Any, derived: Any) -> Iterator[str]:
    """What is stated and does not follow; a later openpts may derive more than was stated."""
    if isinstance(stated, dict) and isinstance(derived, dict):
        for key, value in stated.items():
            yield from _untrue(f"{place}.{key}".lstrip("."), value, derived.get(key))
    elif stated != derived:
        yield f"{visible_line(place)} is {derived!r} by the record, {stated!r} in the seal"


def _refuse(what: str, found: Iterator[str]) -> None:
    if faults := list(found):
        more = len(faults) - _MOST_NAMED
        rest = f"; and {more:,} more" if more > 0 else ""
        raise RecordError(f"{what}: {'; '.join(faults[:_MOST_NAMED])}{rest}")
