"""Reads run folders and makes their parts of a report, in other processes where there are several.

Reading and judging a run of a day takes seconds of a processor's time, and the runs of a suite have nothing
to do with each other. How long a record takes is not known before, so the largest goes first.
"""

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

import msgspec

import openpts
from openpts.errors import RecordError
from openpts.kept_files import KeptKind
from openpts.plugins import Kind, offers
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.writer import DATABASE_NAME
from openpts.report.record_files import RecordFile
from openpts.report.run_part import RunPart, part_of
from openpts.report.sources import read_for_report

PARTS: Final = KeptKind("parts", most_bytes=200_000_000)


def part_digest(folder: Path, test: str, report_date: str, files: Sequence[RecordFile]) -> str | None:
    """Digest of all that the part of a run folder depends on; None where no part of it is to be kept."""
    offer = offers(Kind.PROCEDURE).get(test)
    if PARTS.folder is None or (offer is not None and not offer.package.is_own):
        return None
    digest = _all_else().copy()
    of_record = [f"{file.name} {file.sha256}" for file in files]
    digest.update("\0".join([os.fsdecode(folder), report_date, *of_record]).encode(errors="surrogateescape"))
    return digest.hexdigest()


@cache
def _all_else() -> "hashlib._Hash":
    """Digest of openpts: of each of its files where it is, how large, and when it was changed."""
    digest = hashlib.sha256(sys.version.encode())
    home = Path(openpts.__file__).parent.parent
    for package in sorted(home.glob("openpts*")):
        for path in sorted(package.rglob("*")):
            if path.suffix != ".pyc":
                status = path.lstat()
                digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\0".encode())
    return digest


class RequestedPart(NamedTuple):
    """The part of a run folder; ``digest`` is that of all that it depends on, None where it is not kept."""

    folder: Path
    report_date: str
    digest: str | None

    def kept(self) -> bytes | None:
        """As it was made before, packed; None where it is to be made."""
        return None if self.digest is None else PARTS.read(self.digest)

    def made(self) -> bytes:
        """Made now and kept, as it goes from one process to another. Raises RecordError."""
        content = packed(part_of(read_for_report(self.folder), self.report_date))
        if self.digest is not None:
            PARTS.keep(self.digest, content)
        return content


def begin_parts(requested: Sequence[RequestedPart], workers: Executor) -> list[Future[bytes]]:
    """Start to make the parts of several run folders, the largest first."""
    return [
        workers.submit(part.made)
        for part in sorted(requested, key=lambda part: _size_bytes(part.folder), reverse=True)
    ]


def parts_as_made(begun: Sequence[Future[bytes]]) -> Iterator[RunPart]:
    """Each part as soon as it is made. Raises RecordError as reading a record and making a part do."""
    for future in as_completed(begun):
        try:
            yield unpacked_part(future.result())
        except BrokenProcessPool as error:
            raise RecordError(
                "cannot read the records: a worker process ended early; see its output"
            ) from error


def packed(part: RunPart) -> bytes:
    """A part, and before it the name of its test."""
    return msgspec.msgpack.encode(_Packed(part.test, msgspec.Raw(msgspec.msgpack.encode(part))))


def unpacked_part(content: bytes) -> RunPart:
    """Packing turns whole numbers into fractions where the model has these: 5 and 5.0 are equal, but not the
    same bytes. A report must not depend on which process made a part, so every part is packed.
    """
    outer = msgspec.msgpack.decode(content, type=_Packed)
    part = msgspec.msgpack.decode(outer.part, type=_part_type(outer.test))
    return RunPart(**{name: getattr(part, name) for name in RunPart.__struct_fields__})


class _Packed(msgspec.Struct):
    """A part behind the name of its test, which says of what type its manifest is."""

    test: str
    part: msgspec.Raw


@cache
def _part_type(test: str) -> type[RunPart]:
    """Parts of a plug-in's test have its conditions in their manifest."""
    manifest = manifest_of(test)
    if manifest is Manifest:
        return RunPart
    fields = [("manifest", manifest)]
    of_plugin = msgspec.defstruct("RunPart", fields, bases=(RunPart,), frozen=True, kw_only=True)
    return cast("type[RunPart]", of_plugin)


def _size_bytes(folder: Path) -> int:
    try:
        return (folder / DATABASE_NAME).stat().st_size
    except OSError:  # reading it says why
        return 0
