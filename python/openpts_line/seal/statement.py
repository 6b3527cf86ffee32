"""What a seal states, in in-toto's form: the digest of each file, and conditions and key values of runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from openpts.errors import RecordError, failing_as
from openpts.escaped_text import visible_line
from openpts.procedures.registry import procedure_of
from openpts.record.decoding import decode_json
from openpts.record.writer import SEAL_NAMES
from openpts.report.record_files import record_file
from openpts.report.sources import read_for_report, run_folders_of
from openpts_line.replicate.measured_conditions import measured_conditions

FACTS: Final = {"drive": "dut", **{name: name for name in ("host", "host_before", "engine", "software")}}
"""Facts of a manifest, of which a seal has the values, by their names there."""
STATED: Final = (
    *("state", "started_at", "ended_at", "shortened", "scenario"),
    *("conditions", "target", "purges", "write_caches"),
)
"""What a seal has of a manifest as it is."""
_OF_A_KEY_VALUE: Final = ("unit", "value", "steady", "expanded_uncertainty")


class _Subject(Struct, frozen=True):
    name: str
    digest: dict[Literal["sha256"], str]


class _Predicate(Struct, frozen=True):
    sealed_at: Annotated[datetime, Meta(tz=True)]
    openpts: str
    runs: dict[str, Any]


class Statement(Struct, frozen=True):
    """Version 1 of in-toto's, on all files but the seal's own; the folder that is sealed is the run ``.``."""

    subject: tuple[_Subject, ...]
    predicate: _Predicate
    type_: Literal["https://in-toto.io/Statement/v1"] = field(name="_type")
    predicate_type: Literal["urn:openpts:seal:1"] = field(name="predicateType")


def read_statement(content: bytes) -> Statement:
    """Raises msgspec's error for what is none, or is not written as this openpts writes it."""
    statement: Statement = decode_json(content, Statement)
    if msgspec.json.encode(decode_json(content, Any), order="sorted") != content:
        raise msgspec.ValidationError("its keys are not sorted, or it has blanks or a key twice")
    return statement


def stated(folder: Path) -> bytes:
    """The statement of a folder as it is now. Raises RecordError for what can't be sealed."""
    from importlib.metadata import version  # noqa: PLC0415 takes a tenth of the time of a start

    files = digests_of(folder)
    for name in files:
        if any("\udc80" <= character <= "\udcff" for character in name):
            raise RecordError(f"can't seal {visible_line(name)}: its name is no text in UTF-8; rename it")
    statement = Statement(
        tuple(_Subject(name, {"sha256": digest}) for name, digest in files.items()),
        _Predicate(datetime.now(UTC).replace(microsecond=0), version("openpts"), described(folder)),
        "https://in-toto.io/Statement/v1",
        "urn:openpts:seal:1",
    )
    return msgspec.json.encode(statement, order="sorted")


def digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of each file but the seal's own, by its name. Raises RecordError, also for links."""
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
    """What the records of a folder say, JSON-ready, by run. Raises RecordError, also for runs that go on."""
    runs = {str(run.relative_to(folder)): _described(run) for run in run_folders_of([folder])}
    return decode_json(msgspec.json.encode(runs), dict[str, Any])


def _described(folder: Path) -> dict[str, Any]:
    run = read_for_report(folder)
    of = run.manifest
    if not of.state.has_ended:
        raise RecordError(
            f"can't seal {folder}: its run has not ended; wait, or go on with `openpts resume {folder}`"
        )
    measures = procedure_of(of.conditions.test).report(run).measures
    return {
        **{name: getattr(of, name) for name in STATED},
        **{
            part: {name: fact.value for name, fact in getattr(of, field).items() if fact.value is not None}
            for part, field in FACTS.items()
        },
        "measured_conditions": measured_conditions(run),
        "run_id": of.test_id,
        "test": of.conditions.test,
        "deviations": [one.rule_id for one in run.ledger],
        "key_values": {
            one.key: {name: getattr(one, name) for name in _OF_A_KEY_VALUE} for one in measures if one.is_key
        },
    }
