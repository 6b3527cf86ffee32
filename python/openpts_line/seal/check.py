"""Holds a folder against its seal: who has signed it, each file, and each figure that the statement has."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.escaped_text import visible_line
from openpts.report.record_files import SEAL_NAMES
from openpts.run_folder_files import read_file
from openpts_line.seal.signature import signer_of
from openpts_line.seal.statement import Statement, described, digests_of

_MOST_NAMED: Final = 3


class Seal(Struct, frozen=True):
    """What a seal that holds says. ``signers`` are names of one key; ``sealed_at`` is their word for it."""

    signers: tuple[str, ...]
    key: str
    sealed_at: datetime
    files: int
    statement: Statement


def verify_seal(folder: Path, signers: Path, revoked: Path | None) -> Seal:
    """The seal of a folder, if it holds and each figure follows from the records. Raises RecordError."""
    seal = check_seal(folder, signers, revoked)
    untrue = list(_untrue("", seal.statement.predicate.runs, described(folder)))
    if untrue:
        raise RecordError(
            f"the seal of {folder} states what does not follow from the record: {_named(untrue)}"
        )
    return seal


def check_seal(folder: Path, signers: Path, revoked: Path | None) -> Seal:
    """The seal of a folder, if all files are those that were sealed, and a signer of ``signers`` did so.

    ``revoked`` has keys that are refused whenever they signed. Raises RecordError, UsageError.
    """
    name, of_signature = SEAL_NAMES
    content, signature = (_read(folder, one) for one in (name, of_signature))
    with failing_as(RecordError, f"{folder / name} is no statement of openpts"):
        statement = Statement.read(content)
    if faults := list(_faults(statement.digests, digests_of(folder))):
        raise RecordError(f"{folder} is not as it was sealed: {_named(faults)}")
    moment = statement.predicate.sealed_at
    try:
        signer = signer_of(content, signature, moment, signers, revoked)
    except RecordError as error:
        raise RecordError(f"the seal of {folder} does not count: {error}") from error
    return Seal(signer.names, signer.key, moment, len(statement.subject), statement)


def _read(folder: Path, name: str) -> bytes:
    with failing_as(RecordError, f"can't read the seal of {folder}"):
        try:
            return read_file(folder, name)
        except FileNotFoundError:
            raise RecordError(f"{folder} has no seal: {name} is missing; `openpts seal` makes one") from None


def _faults(sealed: dict[str, str], found: dict[str, str]) -> Iterator[str]:
    for name in sorted(sealed.keys() | found.keys()):
        if name not in found:
            yield f"{visible_line(name)} is missing"
        elif name not in sealed:
            yield f"{visible_line(name)} was added"
        elif sealed[name] != found[name]:
            yield f"{visible_line(name)} was changed"


def _untrue(place: str, stated: Any, derived: Any) -> Iterator[str]:
    """What is stated and does not follow; a later openpts may derive more than was stated."""
    if isinstance(stated, dict) and isinstance(derived, dict):
        for key, value in stated.items():
            yield from _untrue(f"{place}.{key}".lstrip("."), value, derived.get(key))
    elif stated != derived:
        yield f"{visible_line(place)} is {derived!r} by the record, {stated!r} in the seal"


def _named(faults: list[str]) -> str:
    more = len(faults) - _MOST_NAMED
    return "; ".join(faults[:_MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
