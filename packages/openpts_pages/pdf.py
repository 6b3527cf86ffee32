"""Sets the PDF: a fixed typst template reads the model as data, so no text of a device becomes code."""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
import typst
from msgspec.structs import replace

from openpts.kept_files import KeptKind
from openpts_pages.model import Block, Report, Table
from openpts_pages.plots.theme import FONT, FONT_DIRECTORY, LIGHT, showable_json

PDFS: Final = KeptKind("pdfs", most_bytes=200_000_000)

_TEMPLATE: Final = Path(__file__).parent / "templates" / "report.typ"
_STANDARDS: Final = ("a-2a", "ua-1")
# typst writes the default of an optional entry, which poppler up to 25.11 calls a syntax error; blanks in its
# place leave all offsets as they are.
_SUSPECTS: Final = re.compile(rb"(/MarkInfo<</Marked true)(/Suspects false)(?=>>)")
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


def render_pdf(report: Report, drawings: Mapping[str, str]) -> bytes:
    """The report as PDF/A-2a and PDF/UA-1 on the report's paper; ``drawings`` are the figures' SVGs by id.

    The PDF's own date is the report's, so the same report gives the same bytes; they are kept, as setting a
    hundred pages takes most of the time of a report that was made before.
    """
    inputs = {
        "report": showable_json(msgspec.json.encode(report.with_blocks(_without_rows))),
        "theme": msgspec.json.encode({"font": FONT, "colors": LIGHT.tokens()}),
        "drawings": msgspec.json.encode(drawings),
    }
    moment = _moment(report.report_date)
    digest = _digest_of(*inputs.values(), str(moment).encode())
    if (kept := PDFS.read(digest)) is not None:
        return kept
    pdf = typst.compile(
        str(_TEMPLATE),
        font_paths=[str(FONT_DIRECTORY)],
        ignore_system_fonts=True,
        sys_inputs={name: content.decode() for name, content in inputs.items()},
        pdf_standards=list(_STANDARDS),
        timestamp=int(moment.timestamp()),
    )
    plain = _SUSPECTS.sub(lambda found: found[1] + b" " * len(found[2]), bytes(pdf), count=1)
    PDFS.keep(digest, plain)
    return plain


def _digest_of(*inputs: bytes) -> str:
    """Digest of all that a PDF depends on: these, and what sets it."""
    digest = hashlib.sha256(version("typst").encode())
    for path in (Path(__file__), _TEMPLATE, *sorted(FONT_DIRECTORY.iterdir())):
        digest.update(path.read_bytes())
    for content in inputs:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def _without_rows(block: Block) -> Block:
    """Tables that are too long for paper have their heads alone."""
    return replace(block, rows=()) if isinstance(block, Table) and not block.printed else block


def _moment(iso: str) -> datetime:
    """The report's date; a text that is no date counts as the start of 2000, never as now."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return _EPOCH
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
