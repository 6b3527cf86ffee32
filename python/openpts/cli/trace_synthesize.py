"""`openpts trace synthesise`: a workload that is like a trace, and how like it is."""

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import click

from openpts.characteristics.distances import Distance, distances
from openpts.characteristics.native import Selection, figures_of
from openpts.characteristics.synthesis import Synthetic, synthesized
from openpts.cli.console import table_console, table_of
from openpts.cli.trace_options import DEVICES, FORMAT
from openpts.device.targets.simulated_target import names_simulated
from openpts.errors import UsageError
from openpts.folder_files import write_files
from openpts.units import NS_PER_S

_SCHEMA: Final = "openpts.synthetic/1"


@click.command("synthesise")
@click.argument("trace", metavar="TRACE", type=click.Path(path_type=Path))
@FORMAT
@DEVICES
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Make it this long."
)
@click.option(
    "--fio", "job", type=click.Path(path_type=Path, dir_okay=False), help="Write the job file here."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a plan for `openpts run workload` here, and the job file beside it.",
)
@click.option(
    "--check", metavar="TARGET", help="Run it on this simulated drive, and print how far it is from TRACE."
)
@click.option(
    "--held-out",
    is_flag=True,
    help="With --check: model the first half of TRACE, and compare with the second.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def synthesise(
    trace: Path,
    *,
    format_: str | None,
    devices: tuple[str, ...],
    seconds: float | None,
    job: Path | None,
    out: Path | None,
    check: str | None,
    held_out: bool,
    as_json: bool,
) -> None:
    """Make a workload that is like a trace, as a fio job file: streams, sizes, places, rates.

    The job file is for `openpts io --fio` and `openpts run workload`; without --fio or --out it is
    printed. What of the trace it can't express is listed. Distances are those of
    I/Os that were issued, not of the model.
    """
    if check is not None and not names_simulated(check):
        raise UsageError(
            f"--check {check!r}: it writes, and takes only a simulated drive such as sim:enterprise-tlc"
        )
    if check is not None and parse_qs(check.partition("?")[2]).get("scale") != ["1"]:
        raise UsageError(
            f"--check {check!r}: a scaled drive gets fewer I/Os than the workload has: add scale=1"
        )
    if held_out and check is None:
        raise UsageError("--held-out compares I/Os that were issued: give --check")
    figures = figures_of(trace, Selection(format_, devices))
    model, truth, halves = figures, figures, None
    if held_out:
        middle_s = figures["whole"]["span_ns"] / 2 / NS_PER_S
        model = figures_of(trace, Selection(format_, devices, to_s=middle_s))
        truth = figures_of(trace, Selection(format_, devices, from_s=middle_s))
        halves = distances(model, truth)
    made = synthesized(model, seconds)
    job = out.with_suffix(".fio") if job is None and out is not None else job
    if job is not None:
        _write(job, made.job)
    if out is not None and job is not None:
        lines = (
            f'title = "Like {trace.stem}"',
            'tests = ["workload"]',
            "",
            "[workload]",
            f"job = {json.dumps(job.name)}",
        )
        _write(out, "\n".join((*lines, "")))
    found = None if check is None else distances(truth, _issued(made, check))
    if as_json:
        click.echo(json.dumps(_in_json(made, found, halves), indent=2))
        return
    _print(made, found, halves, is_job_shown=job is None)


def _write(path: Path, text: str) -> None:
    """Raises UsageError."""
    try:
        write_files(path.parent, {path.name: text.encode()})
    except OSError as error:
        raise UsageError(
            f"can't write {path}: {error.strerror}; name a file in a folder that exists"
        ) from error


def _issued(made: Synthetic, target: str) -> dict[str, Any]:
    """The figures of what a simulated drive gets of the workload."""
    from openpts.cli.io import io  # noqa: PLC0415 loads the engines

    with tempfile.TemporaryDirectory(prefix="openpts-synthetic-") as folder, redirect_stdout(sys.stderr):
        job, capture = Path(folder) / "job.fio", Path(folder) / "capture"
        write_files(Path(folder), {job.name: made.job.encode()}, lasting=False)
        io.main(["--fio", str(job), "--capture", str(capture), "--seed", "1", target], standalone_mode=False)
        return figures_of(capture)


def _in_json(
    made: Synthetic, found: Sequence[Distance] | None, halves: Sequence[Distance] | None
) -> dict[str, Any]:
    def listed(all_: Sequence[Distance] | None) -> list[dict[str, Any]] | None:
        keys = ("group", "figure", "measure", "value")
        return None if all_ is None else [{key: getattr(one, key) for key in keys} for one in all_]

    return {
        "schema": _SCHEMA,
        "job": made.job,
        "arrivals": {
            "chosen": made.fit.chosen,
            "distances": dict(made.fit.distances),
            "closed_share": made.fit.closed_share,
        },
        "not_expressed": list(made.lost),
        "distances": listed(found),
        "half_to_half": listed(halves),
    }


def _print(
    made: Synthetic,
    found: Sequence[Distance] | None,
    halves: Sequence[Distance] | None,
    *,
    is_job_shown: bool,
) -> None:
    if is_job_shown:
        click.echo(made.job)
    click.echo(f"Arrivals: {made.fit.chosen}. Distance of the index of dispersion, octaves:")
    for name, value in made.fit.distances.items():
        click.echo(f"  {name}: {'unknown' if value is None else f'{value:.3f}'}")
    if made.fit.closed_share is not None:
        click.echo(
            f"  closed loop: {100 * made.fit.closed_share:.1f} % of the time at one depth (90 % needed)"
        )
    click.echo("Not in the workload:")
    for lost in made.lost:
        click.echo(f"  {lost}")
    if found is None:
        return
    heads = ["Group", "Figure", "Measure", ">Distance", *([">Half to half"] if halves else [])]
    table = table_of(*heads)
    for n, one in enumerate(found):
        values = [one.value, *([halves[n].value] if halves else [])]
        table.add_row(
            one.group, one.figure, one.measure, *("unknown" if v is None else f"{v:.3f}" for v in values)
        )
    table_console(sys.stdout).print(table)
