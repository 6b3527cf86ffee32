"""`openpts publish`: a library of runs as a folder that any web host, or a browser alone, can show."""

from pathlib import Path

import click

from openpts.cli.options import FOLDER, PATH, argument, option, with_options
from openpts.errors import UsageError


@click.command(short_help="Publish archives as pages that need no server.")
@with_options
def publish(
    *,
    places: tuple[str, ...] = argument("ARCHIVE...", nargs=-1, required=True),
    site: Path = argument("DIR", FOLDER),
    reports: tuple[Path, ...] = option(
        "--reports RUN",
        "A run folder, or that of a suite, whose report is to lie beside.",
        PATH,
        multiple=True,
    ),
) -> None:
    """Write the runs of archives into DIR as pages and Parquet files, with DuckDB to ask them in the browser.

    ARCHIVE is an archive, or a library that was published before. DIR lies on any web host, in a git
    repository or on a USB stick. If it is a library already, runs are added to it; a run is in it once. The
    pages load nothing from elsewhere. docs/publish.md describes them.
    """
    from openpts_web.publish.reports import reports_of  # noqa: PLC0415 help needs none
    from openpts_web.publish.sources import about, merged, read_source  # noqa: PLC0415 likewise
    from openpts_web.publish.write import check_folder, write_library  # noqa: PLC0415 likewise

    check_folder(site)
    before = [str(site)] if about(site) else []
    library = merged([read_source(place) for place in dict.fromkeys([*before, *places])])
    if not library.runs.num_rows:
        raise UsageError(f"no run in {', '.join(places)}: `openpts archive add` adds some")
    library.reports.update(reports_of(reports, library))
    size_bytes = write_library(library, site)
    runs = library.runs.num_rows
    click.echo(
        f"{site / 'index.html'}: {runs:,} {'run' if runs == 1 else 'runs'}, {size_bytes / 1e6:,.1f} MB"
    )
    named = {
        one
        for one, done in zip(*(library.runs[c].to_pylist() for c in ("serial", "redacted")), strict=False)
        if one and not done
    }
    if named:
        click.echo(
            f"serial numbers of {len(named):,} {'drive' if len(named) == 1 else 'drives'} can be read in it: "
            "`openpts archive add --redact` makes an archive without them",
            err=True,
        )
