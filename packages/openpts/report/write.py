"""Writes a report's files: model, HTML, PDF, data, checksums.

Its parts are made in other processes where there are several: reading and judging a run of a day takes
seconds of a processor's time, and the runs of a suite have nothing to do with each other. How long a record
takes is not known before, so the largest goes first.
"""

import gc
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

import openpts
from openpts.errors import RecordError, failing_as
from openpts.kept_files import KeptKind
from openpts.output_files import write_outputs
from openpts.plugins import Kind, offers
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.writer import DATABASE_NAME
from openpts.report.build import report_of, short_report
from openpts.report.record_files import (
    FIGURES_NAME,
    SUMS_NAME,
    RecordFile,
    left_behind,
    names_in,
    record_files,
    remove_unchanged,
)
from openpts.report.redaction import customers_run, redacted, redacted_value, without_paths
from openpts.report.run_part import SCHEMA_OF_RUNS, RunPart, part_of
from openpts.report.sources import ReportSource, date_of, read_for_report
from openpts_pages.csv_files import FOLDER, csv_files
from openpts_pages.html import render_html
from openpts_pages.measure import KEY_VALUES_ID, Style
from openpts_pages.model import Report, Table, Verdict
from openpts_pages.pdf import render_pdf
from openpts_pages.plots.svg import DrawingPool, draw_figures
from openpts_pages.plots.worker_processes import worker_processes

REPORT_NAME = "report"
_MOST_NAMED: Final = 3
PARTS: Final = KeptKind("parts", most_bytes=200_000_000)


class ReportOptions(Struct, frozen=True, kw_only=True):
    """What an operator may choose of a report.

    ``report_date`` is ISO 8601, UTC; by default it is the end of the last run, so that the same record gives
    the same bytes. ``embed_full`` puts series whole into the HTML, however long. ``for_customer`` leaves out
    people, paths and the host, and redacts as ``redact`` does.
    """

    html: bool = True
    pdf: bool = True
    csv: bool = True
    paper: str = "a4"
    style: Style = Style.FULL
    redact: bool = False
    for_customer: bool = False
    embed_full: bool = False
    report_date: str | None = None

    @property
    def is_redacted(self) -> bool:
        """Whether serial numbers are replaced."""
        return self.redact or self.for_customer


_DEFAULTS: Final = ReportOptions()


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
    """The part of a run folder; ``digest`` is that of all that it depends on, None where it is not kept.

    One ``for_customer`` is of a run without people and host, and has no page that audits it.
    """

    folder: Path
    report_date: str
    digest: str | None
    for_customer: bool = False

    def kept(self) -> bytes | None:
        """As it was made before, packed; None where it is to be made."""
        return None if self.digest is None else PARTS.read(self.digest)

    def made(self) -> bytes:
        """Made now and kept, as it goes from one process to another. Raises RecordError."""
        run = read_for_report(self.folder)
        part = part_of(customers_run(run) if self.for_customer else run, self.report_date)
        if self.for_customer:
            part = replace(part, pages=tuple(page for page in part.pages if page[0] != "audit"))
        content = packed(part)
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


MadeReport = tuple[Report, list[RecordFile], dict[Path, dict[str, Any]]]
"""A report as data, the files that it rests on, and the figures of each run folder for ``--json``."""


class WrittenReport(Struct, frozen=True):
    """Where a report's files are. ``html`` and ``pdf`` are None if they were not requested.

    ``notes`` has a line on files of an earlier report that were removed; ``figures`` are those that
    ``--json`` prints, of each run folder; ``cover`` has the key values and the verdicts, a line each.
    """

    json: Path
    html: Path | None
    pdf: Path | None
    data: tuple[Path, ...]
    sums: Path
    notes: tuple[str, ...] = ()
    figures: Mapping[Path, dict[str, Any]] = field(default_factory=dict)
    cover: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[Path, ...]:
        """What people open: without data and checksums."""
        return tuple(path for path in (self.json, self.html, self.pdf) if path is not None)


def write_report(
    source: ReportSource, *, out: Path | None = None, options: ReportOptions = _DEFAULTS
) -> WrittenReport:
    """Write the report of a run folder, or of several of one drive, into ``out`` or beside the record.

    Beside the record the files are called report.*, elsewhere after drive, date and tests. Raises RecordError
    if a record can't be read, runs don't go together, or a file can't be written.
    """
    with _without_collections(), worker_processes() as workers:
        pool = _pool(options, workers)
        report, files, figures = make_report(source, options, workers, pool)
        contents = _contents(report, options, pool)
        contents[FIGURES_NAME] = json.dumps(figures_document(figures), indent=1).encode()
    kinds = ((options.style, options.style is not Style.FULL), ("for-customer", options.for_customer))
    beside = "-".join((REPORT_NAME, *(name for name, is_so in kinds if is_so)))
    owners = (source.folder,) if out is None else source.run_folders if len(source.run_folders) == 1 else ()
    written = _write(out or source.folder, report.stem if out else beside, contents, files, owners)
    return replace(written, figures=figures, cover=tuple(_cover_lines(report)))


def figures_document(figures: Mapping[Path, dict[str, Any]]) -> dict[str, Any]:
    """What ``--json`` prints, without paths: the same record gives the same wherever it is."""
    runs = [{**of_run, "run": of_run["test_id"]} for of_run in figures.values()]
    return runs[0] if len(runs) == 1 else {"schema": SCHEMA_OF_RUNS, "runs": runs, "reports": []}


def _cover_lines(report: Report) -> Iterator[str]:
    """What the first page answers, for a terminal."""
    blocks = report.front[0].blocks if report.front else ()
    for table in (block for block in blocks if isinstance(block, Table) and block.id == KEY_VALUES_ID):
        for label, value, unit, *_ in (row.cells for row in table.rows):
            note = f" ({value.note})" if value.note else ""
            yield f"{label.text}: {' '.join(filter(None, (value.text, unit.text)))}{note}"
    yield from (block.text for block in blocks if isinstance(block, Verdict))


def make_report(
    source: ReportSource,
    options: ReportOptions,
    workers: Executor,
    pool: DrawingPool | None = None,
    *,
    kept: bool = True,
) -> MadeReport:
    """Make the report of run folders; a ``pool`` begins to draw what of it is ready.

    Without ``kept`` nothing that was judged before is used.

    Raises RecordError.
    """
    manifests = source.manifests()
    date = options.report_date or date_of(manifests)
    files = record_files(source.run_folders)
    requested = []
    for folder, manifest in zip(source.run_folders, manifests, strict=True):
        own = [file for file in files if file.folder == folder]
        digest = None
        if kept and not options.for_customer:
            digest = part_digest(folder, manifest.conditions.test, date, own)
        requested.append(RequestedPart(folder, date, digest, options.for_customer))
    # redaction makes other figures of them, and a short report has few
    drawing = None if options.is_redacted or options.style is Style.SHORT else pool
    parts = []
    for part in _parts(requested, workers, pool):
        parts.append(part)
        if drawing is not None:
            for section in part.sections:
                drawing.begin(section.pages)
    places = {folder: place for place, folder in enumerate(source.run_folders)}
    parts.sort(key=lambda part: places[part.folder])
    if options.style is Style.SHORT:
        report = short_report(parts, date, paper=options.paper)
    else:
        report = report_of(parts, date, files=files, paper=options.paper, style=options.style)
    figures = [json.loads(part.figures) for part in parts]
    if options.is_redacted:
        report, figures = redacted(report, manifests), redacted_value(figures, manifests)
    if options.for_customer:
        folders = source.run_folders
        report = replace(without_paths(report, manifests, folders, Report), for_customer=True)
        figures = without_paths(figures, manifests, folders)
    return report, files, dict(zip([part.folder for part in parts], figures, strict=True))


def _parts(
    requested: Sequence[RequestedPart], workers: Executor, pool: DrawingPool | None
) -> Iterator[RunPart]:
    """Report parts as they are kept, or from the workers; a single one is made here while they get ready."""
    found = [part.kept() for part in requested]
    missing = [part for part, content in zip(requested, found, strict=True) if content is None]
    begun = begin_parts(missing, workers) if len(missing) > 1 else []
    if pool is not None:
        pool.prepare()
    yield from (unpacked_part(content) for content in found if content is not None)
    yield from parts_as_made(begun) if begun else (unpacked_part(part.made()) for part in missing)


def write_model(report: Report, folder: Path, options: ReportOptions = _DEFAULTS) -> WrittenReport:
    """Write a report that was made elsewhere, under its own name. Raises RecordError."""
    with worker_processes() as workers:
        contents = _contents(report, options, _pool(options, workers))
    return _write(folder, report.stem, contents)


def _pool(options: ReportOptions, workers: Executor) -> DrawingPool | None:
    """None where nothing is to be drawn."""
    return DrawingPool(workers) if options.html or options.pdf else None


@contextmanager
def _without_collections() -> Iterator[None]:
    """Records and models live until the report is done: a search for garbage in them only costs time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _contents(report: Report, options: ReportOptions, pool: DrawingPool | None) -> dict[str, bytes]:
    """Endings of the files, or names below the data folder, with what is in them."""
    drawings = draw_figures(report, pool) if options.html or options.pdf else {}
    with ThreadPoolExecutor(1) as beside:  # typst needs no interpreter, so that the HTML is made meanwhile
        pdf = beside.submit(render_pdf, report, drawings) if options.pdf else None
        contents = {".json": msgspec.json.format(msgspec.json.encode(report), indent=1)}
        if options.html:
            contents[".html"] = render_html(report, drawings, embed_full=options.embed_full).encode()
        data = {name: text.encode() for name, text in csv_files(report).items()} if options.csv else {}
    if pdf is not None:
        contents[".pdf"] = pdf.result()
    return contents | data


def _write(
    folder: Path,
    name: str,
    contents: dict[str, bytes],
    record: Sequence[RecordFile] = (),
    owners: Collection[Path] = (),
) -> WrittenReport:
    """Data of a report with a name of its own is in a folder of that name; ``owners`` are folders of runs
    that it may be in.

    The list of checksums has the files of the record as well, where they are in the same folder.
    """
    own = name != REPORT_NAME
    of_data = f"{name}-" if own else ""
    names = {ending: f"{name if ending.startswith('.') else of_data}{ending}" for ending in contents}
    sums = f"{name}.{SUMS_NAME}" if own else SUMS_NAME
    files = {names[ending]: content for ending, content in contents.items()}
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    left = left_behind(folder, sums, name, of_data, files)
    is_same = left.pop(names[".json"], "") == checksums[names[".json"]]
    listed = {**checksums, **left} if is_same else checksums
    listed |= names_in(folder, record)
    lines = [f"{checksum}  {name}\n" for name, checksum in listed.items()]
    with failing_as(RecordError, f"can't write the report into {folder}"):
        written = {**files, sums: os.fsencode("".join(lines))}
        write_outputs(folder, written, owners, lasting=True)
        removed = [] if is_same else remove_unchanged(folder, left)
    paths = {ending: folder / name for ending, name in names.items()}
    data = tuple(path for ending, path in paths.items() if ending.startswith(f"{FOLDER}/"))
    more = f" and {len(removed) - _MOST_NAMED} more" if len(removed) > _MOST_NAMED else ""
    names_removed = ", ".join(removed[:_MOST_NAMED]) + more
    note = f"removed {names_removed}: written with an earlier report, which this one replaces"
    notes = (note,) if removed else ()
    return WrittenReport(paths[".json"], paths.get(".html"), paths.get(".pdf"), data, folder / sums, notes)
