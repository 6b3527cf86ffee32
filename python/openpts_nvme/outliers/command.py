"""`openpts outliers`: the slow I/Os of a run, each with its cause."""

from pathlib import Path

import click

from openpts.cli.console import table_console, table_of
from openpts.cli.options import FOLDER, argument, flag, with_options
from openpts.cli.printed_document import print_document
from openpts.vocabulary.document import Document
from openpts_nvme.outliers.causes import Cause, Comparison, Outlier


class OutliersDocument(Document, frozen=True, kw_only=True, tag="openpts.outliers/1"):
    """Slow I/Os of a run by time; ``limit_ms`` is null where none were to be noted."""

    run: str
    limit_ms: float | None
    causes: dict[Cause, int]
    outliers: tuple[Outlier, ...]
    monitor: tuple[Comparison, ...]


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
        print_document(
            OutliersDocument(
                run=run.manifest.test_id,
                limit_ms=limit_ms,
                causes={cause: len(some) for cause, some in found.by_cause.items()},
                outliers=found.outliers,
                monitor=found.comparisons,
            )
        )
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
        table.add_row(one.step, f"{one.io.latency_ns / 1e6:.3f}", one.cause, one.evidence)
    table_console().print(table)
    if found.hides:
        click.echo(found.hides)
