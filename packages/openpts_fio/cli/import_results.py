"""`openpts import`: results of other programs as runs that can be compared."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openpts.cli.commands_on_demand import together
from openpts.cli.options import FILE, FOLDER, argument, option
from openpts.errors import UsageError
from openpts.units import parse_size_bytes
from openpts.vocabulary.drive_class import DriveClass

if TYPE_CHECKING:
    from openpts_fio.imports.imported_run import ImportSettings, Results, Source

_OF_A_DRIVE = ("model", "serial", "firmware")


_common = together(
    argument("FILE...", click.Path(path_type=Path), name="files", nargs=-1, required=True),
    option(
        "--capacity SIZE",
        "User capacity of the drive that was measured, such as 480GB; results don't state it.",
        required=True,
    ),
    option("--model TEXT", "Model of the drive."),
    option("--serial TEXT", "Serial number of the drive."),
    option("--firmware TEXT", "Firmware of the drive."),
    option(
        "--class",
        "PTS-E or PTS-C: whose settings the ledger names what differs from.",
        click.Choice([one.value for one in DriveClass]),
        name="drive_class",
        default=DriveClass.ENTERPRISE.value,
    ),
    option("--out", "Folder in which the run folders are made; openpts-runs.", FOLDER),
)


@click.group("import", subcommand_metavar="PROGRAM FILE...")
def import_results() -> None:
    """Make runs of results of other programs.

    The runs are marked as imported: reports and comparisons take them, and none is conformant. Nothing that a
    file does not state is filled in.
    """


@import_results.command("fio")
@_common
@together(
    option(
        "--job JOB",
        "Job file that fio ran; without it, the options that its output states.",
        FILE,
        name="job_path",
    )
)
def fio(files: tuple[Path, ...], out: Path | None, job_path: Path | None, **options: Any) -> None:
    """Make a run of each output of fio, or of all outputs in a folder.

    FILE is an output in JSON, best JSON+; it becomes a run of the test `workload`. Groups of jobs become
    steps of one round, jobs its streams. Lines before and behind the JSON don't matter. Outputs `*.json`
    below a folder become one run, with charts over queue depth and jobs. Logs of IOPS, throughput and
    latency beside an output become courses over time.
    """
    from openpts_fio.imports.fio_set import folder_source, results_of_set, results_with_logs  # noqa: PLC0415 loads the tests

    if any(path.is_dir() for path in files) and job_path is not None:
        raise UsageError("--job is the job file of one output, and not of all in a folder")
    outputs = {path: folder_source(path) for path in files if path.is_dir()}

    def results(source: "Source", settings: "ImportSettings") -> "Mapping[str, Results]":
        if source.path in outputs:
            return {"": results_of_set(*outputs[source.path], settings)}
        return {"": results_with_logs(source, settings, job_path)}

    _import(files, out, options, results, {path: source for path, (source, _) in outputs.items()})


@import_results.command("tkperf")
@_common
def tkperf(files: tuple[Path, ...], out: Path | None, **options: Any) -> None:
    """Make runs of each file of TKperf.

    FILE is the XML of a test of an SSD; it becomes runs of the tests iops, tp, lat and wsat. Steady state is
    judged again by the specification's rule; what TKperf states is in the set-up page.
    """
    from openpts_fio.imports.tkperf_import import tkperf_results  # noqa: PLC0415 loads the tests

    _import(
        files,
        out,
        options,
        lambda source, settings: {one.conditions.test: one for one in tkperf_results(source, settings)},
    )


def _import(
    files: Sequence[Path],
    out: Path | None,
    options: Mapping[str, str | None],
    results: "Callable[[Source, ImportSettings], Mapping[str, Results]]",
    folders: "Mapping[Path, Source] | None" = None,
) -> None:
    """Read all files, then make the runs of each in its folder, and say what the file doesn't state."""
    from openpts_fio.imports.imported_run import ImportSettings, Source, write_imported  # noqa: PLC0415 loads the tests

    drive = {name: text for name in _OF_A_DRIVE if (text := options[name])}
    capacity, drive_class = (
        parse_size_bytes(str(options["capacity"])),
        DriveClass(str(options["drive_class"])),
    )
    settings = ImportSettings(capacity, drive_class, drive, tuple(sys.argv[1:]))
    sources = [(folders or {}).get(path) or Source.read(path) for path in files]
    read = [(source, results(source, settings)) for source in sources]
    for number, (source, found) in enumerate(read, start=1):
        for below, one in found.items():
            folder = _folder(out, source.path, number if len(read) > 1 else 0) / below
            write_imported(folder, source, one, settings)
            for entry in one.deviations:
                click.echo(f"openpts: {source.path}: {entry.used}: {entry.effect}", err=True)
            for text in one.missing:
                click.echo(f"openpts: {source.path}: n/a: {text}", err=True)
            click.echo(f"run: {folder}")


def _folder(out: Path | None, path: Path, number: int) -> Path:
    """The run folder of a file: --out itself for a single file, else a folder below it for each."""
    above = out or Path("openpts-runs")
    if out is not None and not number:
        return above
    return above / (f"{number}-{path.stem}" if number else f"imported-{path.stem}")
