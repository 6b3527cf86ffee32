"""`openpts fit`: a drive's twin from runs of it."""

import sys
from pathlib import Path
from typing import IO

import click

from openpts.cli.options import NEW_FILE, PATH, argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.device.targets.simulated_target import MOST_SCALE
from openpts_twin.documents import FitDocument


@click.command(short_help="Make a simulated drive that behaves as a measured one.")
@with_options
def fit(
    *,
    folders: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    out: Path = option(
        "-o --out FILE", "Write this preset; FILE.fit.toml goes beside it.", NEW_FILE, default="twin.toml"
    ),
    like: str | None = option(
        "PRESET", "Begin from this preset, whose values stay where no run shows them; the nearest that ships."
    ),
    scale: int | None = option(
        "N",
        "Pages of the drive for each simulated page; that of the runs, or 12 GB.",
        click.IntRange(1, MOST_SCALE),
    ),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Fit a simulated drive to runs: the drive's twin, for `openpts predict` and `openpts rehearse`.

    RUN is the folder of a run of the drive; all must be of the same. iops, tp and lat together show most:
    cells, controller, link, buffer and over-provisioning; a test that none of them resembles is
    predicted by what the preset assumes. Some fifty replays of the runs in virtual time take minutes.
    """
    from openpts.cli.terminal import draw_over  # noqa: PLC0415 help needs nothing that runs
    from openpts.record.reader import read_run  # noqa: PLC0415 likewise
    from openpts.report.sources import run_folders_of  # noqa: PLC0415 likewise
    from openpts.run_folder_files import write_files  # noqa: PLC0415 likewise
    from openpts_twin.twin.fit import fit as fitted  # noqa: PLC0415 likewise
    from openpts_twin.twin.twin_file import fit_path  # noqa: PLC0415 likewise

    runs = [read_run(folder) for folder in run_folders_of(list(folders))]
    twin = fitted(runs, name=out.stem, like=like, scale=scale, tell=lambda text: draw_over(sys.stderr, text))
    draw_over(sys.stderr)
    write_files(out.parent, {out.name: twin.preset.encode(), fit_path(out).name: twin.fit.encode()})
    found = twin.found
    document = FitDocument(
        preset=str(out),
        drive=twin.evidence.drive,
        like=twin.like,
        runs=twin.evidence.runs,
        fitted={name: value for name, value in sorted(found.values.items()) if name not in found.assumed},
        assumed=found.assumed,
        error_pct={kind: 100 * error for kind, error in sorted(found.errors.items())},
        trials=found.trials,
    )
    if as_json:
        print_document(document)
    else:
        _print_fit(sys.stdout, document)


def _print_fit(stream: IO[str], document: FitDocument) -> None:
    """The values found, what was assumed, and how near the twin is to what was measured."""
    from openpts.cli.console import table_of  # noqa: PLC0415 likewise
    from openpts.cli.sim import print_parts  # noqa: PLC0415 likewise

    table = table_of("Parameter", ">Fitted")
    for name, value in document.fitted.items():
        table.add_row(
            name.removeprefix("page_mapped."), f"{value:.4g}" if isinstance(value, float) else str(value)
        )
    print_parts(stream, f"{document.preset}: twin of {document.drive}, like {document.like}")
    print_parts(stream, table)
    errors = ", ".join(f"{kind} {error:.1f} %" for kind, error in document.error_pct.items())
    print_parts(stream, f"left unexplained (standard deviation): {errors}; {document.trials} replays")
    if document.assumed:
        names = ", ".join(name.removeprefix("page_mapped.") for name in document.assumed)
        print_parts(stream, f"no run shows directly, begun from {document.like}: {names}")
    print_parts(stream, f"next: openpts predict {document.preset} TEST")
