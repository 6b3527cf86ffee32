"""What a seal states, in in-toto's form: the digest of each file, and conditions and key values of runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from openpts.errors import RecordError, failing_as
from openpts.escaped_text import visible_line
from openpts.procedures.registry import procedure_of
from openpts.record.decoding import decode_json
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.record_files import SEAL_NAMES, record_file
from openpts.report.sources import read_for_report, run_folders_of
from openpts.vocabulary.document import filled

PREDICATE_TYPE: Final = "urn:openpts:seal:1"


class KeyValue(Struct, frozen=True):
    """A key value in its unit, None where it was not measured. ``steady`` is its state, in words."""

    unit: str
    value: float | None
    steady: str
    expanded_uncertainty: float | UnsetType | None = UNSET


class _Subject(Struct, frozen=True):
    name: str
    digest: dict[str, str]


class _Predicate(Struct, frozen=True):
    """``runs`` by their folders, the sealed one itself is ``.``; ``openpts`` is the version that sealed."""

    sealed_at: Annotated[datetime, Meta(tz=True)]
    openpts: str
    runs: dict[str, Any]


class Statement(Struct, frozen=True):
    """Version 1 of in-toto's; the subjects are all files of the folder but the seal's own."""

    subject: tuple[_Subject, ...]
    predicate: _Predicate
    type_: Literal["https://in-toto.io/Statement/v1"] = field(
        default="https://in-toto.io/Statement/v1", name="_type"
    )
    predicate_type: Literal["urn:openpts:seal:1"] = field(default=PREDICATE_TYPE, name="predicateType")

    @classmethod
    def read(cls, content: bytes) -> "Statement":
        """Raises msgspec's error for what is none, or is not written as this openpts writes it."""
        statement: Statement = decode_json(content, cls)
        if _canonical(decode_json(content, Any)) != content:
            raise msgspec.ValidationError("its keys are not sorted, or it has blanks or a key twice")
        return statement

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 by the name of the file."""
        return {one.name: one.digest.get("sha256", "") for one in self.subject}


def stated(folder: Path) -> bytes:
    """The statement of a folder as it is now. Raises RecordError for what can't be sealed."""
    files = digests_of(folder)
    for name in files:
        if any("\udc80" <= character <= "\udcff" for character in name):
            raise RecordError(f"can't seal {visible_line(name)}: its name is no text in UTF-8; rename it")
    predicate = _Predicate(datetime.now(UTC).replace(microsecond=0), version("openpts"), described(folder))
    subject = tuple(_Subject(name, {"sha256": digest}) for name, digest in files.items())
    return _canonical(Statement(subject, predicate))


def digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a folder and those below it, by its name; the seal's own are left out.

    Raises RecordError for what can't be read, and for links, devices and pipes.
    """
    with failing_as(RecordError, f"can't read {folder}"):
        names = sorted(_names(folder, ""))
    return {name: record_file(folder, folder / name).sha256 for name in names}


def _names(folder: Path, below: str) -> Iterator[str]:
    for path in (folder / below).iterdir():
        name = f"{below}{path.name}"
        if path.is_dir() and not path.is_symlink():
            yield from _names(folder, f"{name}/")
        elif name not in SEAL_NAMES:
            yield name


def described(folder: Path) -> dict[str, Any]:
    """What the records of a folder say, JSON-ready, by the folders of the runs.

    Raises RecordError, also for a run that has not ended.
    """
    runs = {str(run.relative_to(folder)): _described(run) for run in run_folders_of([folder])}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(runs))
    return plain


def _described(folder: Path) -> dict[str, Any]:
    run = read_for_report(folder)
    manifest = run.manifest
    if not manifest.state.has_ended:
        raise RecordError(
            f"can't seal {folder}: its run has not ended; wait, or go on with `openpts resume {folder}`"
        )
    return {
        "run_id": manifest.test_id,
        "test": manifest.conditions.test,
        "state": manifest.state,
        "started_at": manifest.started_at,
        "ended_at": manifest.ended_at,
        "conditions": manifest.conditions,
        **_facts(manifest),
        "deviations": [one.rule_id for one in run.ledger],
        "key_values": _key_values(run),
    }


def _facts(manifest: Manifest) -> dict[str, dict[str, str]]:
    """Drive, host, engine, and software with plug-ins, as far as they are known."""
    parts = (
        ("drive", manifest.dut),
        ("host", manifest.host),
        ("engine", manifest.engine),
        ("software", manifest.software),
    )
    return {
        part: {name: fact.value for name, fact in facts.items() if fact.value is not None}
        for part, facts in parts
    }


def _key_values(run: Run) -> dict[str, KeyValue]:
    measures = procedure_of(run.manifest.conditions.test).report(run).measures
    return {one.key: filled(KeyValue, one) for one in measures if one.is_key}


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")
