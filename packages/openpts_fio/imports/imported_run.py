"""Writes a run that is made of another program's results: complete, marked, with its source as an input."""

import codecs
import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.config_files.written_file import read_written
from openpts.errors import RecordError, UsageError
from openpts.escaped_text import visible_line
from openpts.fields.conditions import Conditions
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.registry import procedure_of
from openpts.record.contradictions import refuse_contradictions
from openpts.record.manifest import Manifest, RunState
from openpts.record.writer import RunWriter
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Fact, Facts, People, TargetFacts, TargetKind
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.run_request import Imported, ImportedCourse
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepPlace, StepState, StreamSample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation
from openpts_fio.figures import OPERATIONS, merged, operations_of
from openpts_host.software import software_facts

MOST_KIB: Final = 64 * 1024
_BYTE_ORDER_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",  # PowerShell's > writes it
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_SECTOR_BYTES: Final = 512
_ID_DIGITS: Final = 6
_OF_A_DRIVE: Final = (
    *("manufacturer", "model", "serial", "firmware", "interface", "form_factor", "media", "nand_type"),
    *("features", "sector", "file_system", "pcie", "hba"),
)


class ImportSettings(Struct, frozen=True):
    """What the operator says beside the file: what no result states.

    ``capacity_bytes`` is the user capacity of the drive that was measured; ``drive`` are its model, serial
    number and firmware, as far as given; ``command_line`` the words typed.
    """

    capacity_bytes: int
    drive_class: DriveClass
    drive: Mapping[str, str]
    command_line: tuple[str, ...]


class Source(Struct, frozen=True):
    """A file of results. ``raw`` is kept with the run; ``changed_at`` is when it was last written."""

    path: Path
    raw: bytes
    changed_at: datetime

    @classmethod
    def read(cls, path: Path) -> "Source":
        """All of it. Raises UsageError if it can't be read, is empty, or is larger than results are."""
        raw = read_written(path, MOST_KIB, "file of results")
        if not raw.strip():
            raise UsageError(f"cannot import {path}: it is empty")
        return cls(path, raw, datetime.fromtimestamp(path.stat().st_mtime, UTC))

    @property
    def utf8(self) -> bytes:
        """The text in UTF-8, without a byte order mark. Raises UsageError for UTF-16 that is damaged."""
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if self.raw.startswith(mark):
                try:
                    return self.raw[len(mark) :].decode(encoding).encode()
                except UnicodeError as error:
                    raise self.error(f"its text is damaged: {error}") from error
        return self.raw

    def error(self, reason: str) -> UsageError:
        """Why it can't be imported, on one line."""
        return UsageError(f"cannot import {self.path}: {visible_line(reason)}")


class Results(Struct, frozen=True):
    """The results of one test. ``ended_at`` None: the file does not state it.

    ``deviations`` are entries of the ledger beside those that the conditions have.
    ``target`` is the name of what was measured, empty where that is not stated, as are ``kernel`` and what
    ``drive`` has of model, serial number and firmware. ``courses`` are of logs beside the source, and
    ``files`` what is kept with the run beside it, by name.
    """

    tool: str
    form: str
    conditions: Conditions
    steps: tuple[tuple[StepPlace, Sample], ...]
    cycles: tuple[CycleFinished, ...]
    ended_at: datetime | None
    target: str
    stated: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    kernel: str | None = None
    drive: Mapping[str, str] = field(default_factory=dict)
    deviations: tuple[Deviation, ...] = ()
    courses: tuple[ImportedCourse, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def write_imported(folder: Path, source: Source, found: Results, settings: ImportSettings) -> None:
    """Make the run folder. Raises UsageError for results that contradict themselves, RecordError."""
    test = procedure_of(found.conditions.test)
    standard = test.standard_conditions(settings.drive_class, found.conditions.seed)
    ended = found.ended_at or source.changed_at
    name = re.sub("[^A-Za-z0-9_-]", "_", source.path.stem)
    kept_as = "SHA256SUMS" if source.path.is_dir() else f"imported{source.path.suffix}"
    imported = Imported(
        tool=visible_line(found.tool),
        form=found.form,
        file=visible_line(source.path.name),
        kept_as=kept_as,
        sha256=hashlib.sha256(source.raw).hexdigest(),
        stated=tuple((visible_line(name), visible_line(text)) for name, text in found.stated),
        missing=found.missing,
        courses=found.courses,
    )
    manifest = Manifest(
        test_id=f"{name}-{ended:%Y%m%dT%H%M%SZ}-{found.conditions.test}-{imported.sha256[:_ID_DIGITS]}",
        command_line=settings.command_line,
        conditions=found.conditions,
        people=People(),
        target=_target(found, settings),
        dut=_dut(source, found, settings),
        host={},
        software=_software(source, found, imported),
        started_at=ended.isoformat(timespec="seconds"),
        shortened=shortened(found.conditions, standard),
        engine={"engine": Fact("fio", source.path.name)},
        ended_at=ended.isoformat(timespec="seconds"),
        state=RunState.COMPLETE,
        cycles=found.cycles,
        telemetry={"telemetry": Fact(None, f"imported from {imported.tool}")},
        imported=imported,
    )
    try:
        refuse_contradictions(folder, manifest, found.steps)
    except RecordError as error:
        raise source.error(f"its figures contradict each other: {error}") from error
    writer = RunWriter.create(folder, manifest, inputs={**found.files, kept_as: source.raw})
    for place, sample in found.steps:
        writer.add_step(place, sample)
    own = deviations(found.conditions, standard, test.rules)
    writer.add_deviations((imported.entry, *found.deviations, *own))
    writer.close()


def sample_of(step: Step, parts: Sequence[tuple[dict[str, OperationSample], int]], started_ns: int) -> Sample:
    """A step's sample from the operations of its streams, each with how long it ran, in ns.

    Raises OverflowError for sums that no record can hold.
    """
    whole = {name: merged([part.get(name, NOTHING) for part, _ in parts]) for name in OPERATIONS}
    streams = tuple(
        StreamSample(**operations_of(part), elapsed_ns=ns, cpu=None, ended_by=None, started_ns=started_ns)
        for part, ns in parts
    )
    return Sample(
        **operations_of(whole),
        elapsed_ns=max(ns for _, ns in parts),
        cpu=None,
        step=step,
        state=StepState.COMPLETE,
        ended_by=None,
        started_ns=started_ns,
        gap_ns=None,
        interval_ns=NS_PER_S,
        intervals=(),
        failure=None,
        streams=streams if len(streams) > 1 else (),
    )


def _target(found: Results, settings: ImportSettings) -> TargetFacts:
    name = visible_line(found.target) or "not stated"
    return TargetFacts(TargetKind.BLOCK, Path(name).name, name, settings.capacity_bytes, _SECTOR_BYTES)


def _dut(source: Source, found: Results, settings: ImportSettings) -> Facts:
    by_operator = "stated by the operator"
    return {
        **dict.fromkeys(_OF_A_DRIVE, Fact(None, f"not in {source.path.name}")),
        "capacity": Fact(f"{settings.capacity_bytes:,} B", by_operator),
        **{name: Fact(visible_line(text), source.path.name) for name, text in found.drive.items()},
        **{name: Fact(visible_line(text), by_operator) for name, text in settings.drive.items()},
    }


def _software(source: Source, found: Results, imported: Imported) -> Facts:
    own = software_facts(SystemRoots())
    return {
        **{name: fact for name, fact in own.items() if name == "openpts"},
        "test_software": Fact(imported.tool, source.path.name),
        "kernel": Fact(found.kernel, source.path.name),
    }
