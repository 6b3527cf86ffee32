"""`openpts outliers`: the slow I/Os of a run, each with its cause."""

from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from openpts.cli.console import table_console, table_of
from openpts.cli.options import FOLDER, argument, flag, with_options
from openpts.cli.printed_document import print_document
from openpts.vocabulary.document import Document
from openpts.vocabulary.sample import SlowIo
from openpts_nvme.outliers.causes import Cause


class OutlierFacts(Struct, frozen=True, kw_only=True):
    """One slow I/O: what its thread knew (``io``), what made it slow, and the evidence in words."""

    step: str
    io: SlowIo
    cause: Cause
    evidence: str


class MonitorFacts(Struct, frozen=True, kw_only=True):
    """What drive and host counted at or above each threshold between two readings of the drive's monitor."""

    from_ns: int
    until_ns: int
    thresholds_ns: tuple[int, ...]
    drive: dict[str, tuple[int, ...]]
    host: dict[str, tuple[int, ...]]


class OutliersDocument(Document, frozen=True, kw_only=True, tag="openpts.outliers/1"):
    """Slow I/Os of a run by time; ``limit_ms`` is null where none were to be noted."""

    run: str
    limit_ms: float | None
    causes: dict[Cause, int]
    outliers: tuple[OutlierFacts, ...]
    monitor: tuple[MonitorFacts, ...]


@click.command(short_help="Name what made I/Os of a run slow.")
@with_options
def outliers(
    *,
    folder: Path = argument("RUN_FOLDER", FOLDER),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Name what made I/Os of a run slow: drive, link, kernel, processor, others, heat.

    The run of RUN_FOLDER must have noted them: `openpts run TEST TARGET --outliers 5` notes all of 5 ms and
    more.
    """
    from openpts.record.reader import read_run  # noqa: PLC0415 help needs nothing that runs
    from openpts_nvme.outliers.judge import judged  # noqa: PLC0415 likewise

    run = read_run(folder)
    ordered = run.manifest.ordered
    limit_ms = None if ordered is None else ordered.slow_io_ms
    found = judged(run)
    if as_json:
        print_document(_document(run.manifest.test_id, limit_ms, found))
        return
    if not found.outliers:
        asked = limit_ms is not None
        none = (
            f"no I/O took {limit_ms:g} ms or more" if asked else "the run noted no slow I/Os: use --outliers"
        )
        click.echo(none)
        return
    table = table_of("STEP", ">LATENCY (ms)", "CAUSE", "EVIDENCE")
    for one in found.outliers:
        table.add_row(str(one.step.place), f"{one.slow.latency_ns / 1e6:.3f}", one.cause, one.evidence)
    table_console().print(table)


def _document(test_id: str, limit_ms: float | None, found: Any) -> OutliersDocument:
    return OutliersDocument(
        run=test_id,
        limit_ms=limit_ms,
        causes={cause: len(some) for cause, some in found.by_cause.items()},
        outliers=tuple(
            OutlierFacts(step=str(one.step.place), io=one.slow, cause=one.cause, evidence=one.evidence)
            for one in found.outliers
        ),
        monitor=tuple(
            MonitorFacts(
                from_ns=one.from_ns,
                until_ns=one.until_ns,
                thresholds_ns=one.thresholds_ns,
                drive=dict(one.drive),
                host=dict(one.host),
            )
            for one in found.comparisons
        ),
    )
