"""`openpts trace synthesize`: a workload that is like a trace, and how like it is."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.console import table_console, table_of
from openpts.cli.options import NEW_FILE, PATH, argument, flag, option, with_options
from openpts.device.targets.simulated_target import SimulatedTarget, names_simulated, parse_simulated_target
from openpts.errors import RecordError, UsageError, failing_as
from openpts.run_folder_files import write_files
from openpts.temporary_folder import temporary_folder
from openpts.units import GB
from openpts_traces.behavior import Behavior, behaviors
from openpts_traces.characteristics.distances import Distance, distances
from openpts_traces.characteristics.model import TraceModel, modeled
from openpts_traces.characteristics.native import Selection, figures_of, is_clean
from openpts_traces.characteristics.synthesis import Synthetic, synthesized
from openpts_traces.cli.trace_options import DEVICES, FORMAT, known_names
from openpts_traces.cli.trace_text import DAMAGED_EXIT_CODE
from openpts_traces.treatment import ALL_TIME, Input, OpenOptions, Span, write

_SCHEMA: Final = "openpts.synthetic/2"
_LEAST_DRIVE_BYTES: Final = 8 * GB
_DISTANCE: Final = ("group", "figure", "measure", "value")
_ROOM: Final = 2
"""Capacity of a drive that is checked on over what the trace touches."""


@click.command("synthesize")
@with_options
def synthesize(
    *,
    trace: Path = argument("TRACE", PATH, callback=known_names),
    format_: str | None = FORMAT,
    devices: tuple[str, ...] = DEVICES,
    seconds: float | None = option("S", "Make it this long.", click.FloatRange(min=0, min_open=True)),
    job: Path | None = option("--fio", "Write the job file here.", NEW_FILE),
    out: Path | None = option(
        "", "Write a plan for `openpts run workload` here, and the job file beside it.", NEW_FILE
    ),
    model_file: Path | None = option(
        "--model", "Write a model here, which is read as a trace: it keeps bursts and reuse.", NEW_FILE
    ),
    checks: tuple[str, ...] = option(
        "--check TARGET",
        "Replay it and TRACE on this simulated drive, and compare; may be repeated.",
        multiple=True,
    ),
    held_out: bool = flag("Model the first half of TRACE, and compare with the second."),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> int:
    """Make a workload that is like a trace, as a fio job file or as a model: streams, sizes, places, rates.

    The job file is for `openpts io --fio` and `openpts run workload`; without --fio, --out or --model it is
    printed. A model is a trace to all commands that read traces, such as `openpts run replay`. What of the
    trace they can't express is listed. Distances are those of I/Os that were made, not of the model.
    Exits with 11 if records of TRACE are damaged or lost, and the others used.
    """
    if model_file is not None and (job is not None or out is not None):
        raise UsageError("--model writes no job file: leave out --fio and --out, or run synthesize twice")
    if held_out and model_file is None and not checks:
        raise UsageError("--held-out compares I/Os that were issued: give --check, or --model")
    targets = [_target(check) for check in checks]
    figures = figures_of(trace, Selection(format_, devices))
    source, truth, halves, selection = figures, figures, None, Selection(format_, devices)
    if held_out:
        middle_ns = round(figures["whole"]["span_ns"] / 2)
        selection = Selection(format_, devices, time_ns=Span(0, middle_ns))
        source = figures_of(trace, selection)
        truth = figures_of(trace, Selection(format_, devices, time_ns=Span(middle_ns, ALL_TIME.end)))
        halves = distances(source, truth)
    with temporary_folder("synthetic") as folder:
        if model_file is not None:
            model = modeled(trace, selection, source, seconds)
            _write(model_file, model.text)
            shown = _Shown(model, found=distances(truth, model.figures), halves=halves)
            made, fit = model_file, model.fit
        else:
            synthetic = synthesized(source, seconds)
            _write_job(synthetic, trace, job, out)
            shown = _Shown(synthetic, is_job_printed=job is None and out is None, halves=halves)
            made, fit = folder / "capture", synthetic.fit
            if targets:
                _issue(synthetic, _sized(targets[0], source), folder)
                shown.found = distances(truth, figures_of(made))
        if not held_out:
            depth = max(1, round(fit.depth)) if fit.is_closed else None
            sized = [_sized(target, figures) for target in targets]
            replayed = _selected(trace, selection, folder) if targets else trace
            shown.checked = [(str(target), behaviors(replayed, made, target, depth)) for target in sized]
    if as_json:
        click.echo(json.dumps(_in_json(shown), indent=2))
    else:
        _print(shown)
    return 0 if is_clean(figures) else DAMAGED_EXIT_CODE


class _Shown(Struct):
    """What is to be shown: a job or a model, the distances of its I/Os, what drives do under it."""

    made: Synthetic | TraceModel
    is_job_printed: bool = False
    found: Sequence[Distance] | None = None
    halves: Sequence[Distance] | None = None
    checked: Sequence[tuple[str, Sequence[Behavior]]] = ()

    @property
    def job(self) -> Synthetic | None:
        """The job, if it is one."""
        return self.made if isinstance(self.made, Synthetic) else None

    @property
    def model(self) -> TraceModel | None:
        """The model, if it is one."""
        return self.made if isinstance(self.made, TraceModel) else None


def _target(check: str) -> SimulatedTarget:
    """Raises UsageError for one that is no simulated drive, or has a scale."""
    if not names_simulated(check):
        raise UsageError(
            f"--check {check!r}: it writes, and takes only a simulated drive such as sim:enterprise-tlc"
        )
    target = parse_simulated_target(check)
    if target.scale not in {None, 1}:
        raise UsageError(
            f"--check {check!r}: a scaled drive gets fewer I/Os than the workload has: add scale=1"
        )
    return replace(target, scale=1)


def _sized(target: SimulatedTarget, figures: Mapping[str, Any]) -> SimulatedTarget:
    """With room for all that the trace touches, unless its size was given."""
    touched = figures["whole"]["blocks"]["footprint"]["touched"]["bytes"]
    return replace(target, capacity_bytes=target.capacity_bytes or max(_LEAST_DRIVE_BYTES, _ROOM * touched))


def _selected(trace: Path, selection: Selection, folder: Path) -> Path:
    """The trace as it is replayed: a file of what is selected, unless that is all of it."""
    if selection.format is None and not selection.devices:
        return trace
    options = OpenOptions(format=selection.format, devices=selection.devices)
    selected = folder / f"{trace.name}.parquet"
    write([Input((str(trace),), options)], "openpts", selected, lambda _ios: None)
    return selected


def _write_job(made: Synthetic, trace: Path, job: Path | None, out: Path | None) -> None:
    """The job file, and a plan that names it."""
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


def _write(path: Path, text: str) -> None:
    """Raises RecordError."""
    with failing_as(RecordError, f"can't write {path}"):
        write_files(path.parent, {path.name: text.encode()})


def _issue(made: Synthetic, target: SimulatedTarget, folder: Path) -> None:
    """Run a job on a simulated drive; what is issued is captured in ``capture``."""
    from openpts.cli.io import io  # noqa: PLC0415 loads the engines

    with redirect_stdout(sys.stderr):
        write_files(folder, {"job.fio": made.job.encode()}, lasting=False)
        words = ["--fio", str(folder / "job.fio"), "--capture", str(folder / "capture"), "--seed", "1"]
        io.main([*words, str(target)], standalone_mode=False)


def _in_json(shown: _Shown) -> dict[str, Any]:
    made, model = shown.made, shown.model
    figures = ("figure", "unit", "trace", "synthetic", "difference_pct", "limit_pct", "holds")
    return {
        "schema": _SCHEMA,
        "job": shown.job.job if shown.job else None,
        "model": model.text if model else None,
        "arrivals": {
            "chosen": made.chosen,
            "closed_share": made.fit.closed_share,
            "distances": _listed(made.candidates, "process", "dispersion", "gaps"),
        },
        "places": model
        and {
            "chosen": model.chosen_places,
            "distances": _listed(model.place_candidates, "places", "hot_cold", "miss_ratio"),
        },
        "not_expressed": list(made.lost),
        "distances": _listed(shown.found, *_DISTANCE),
        "half_to_half": _listed(shown.halves, *_DISTANCE),
        "checks": [
            {"target": target, "figures": _listed(found, *figures)} for target, found in shown.checked
        ],
    }


def _listed(all_: Sequence[object] | None, *names: str) -> list[dict[str, Any]] | None:
    """The attributes of each that are named; None for what was not asked for."""
    return None if all_ is None else [{name: getattr(one, name) for name in names} for one in all_]


def _print(shown: _Shown) -> None:
    if shown.job and shown.is_job_printed:
        click.echo(shown.job.job)
    if shown.model:
        ios = shown.model.figures["whole"]["mix"]["ios"]
        click.echo(f"Model: {len(shown.model.text):,} bytes, {ios:,} I/Os.")
    _print_candidates(shown)
    click.echo("Not in the workload:")
    for lost in shown.made.lost:
        click.echo(f"  {lost}")
    if shown.found is not None:
        heads = ["Group", "Figure", "Measure", ">Distance", *([">Half to half"] if shown.halves else [])]
        table = table_of(*heads)
        for n, distance in enumerate(shown.found):
            values = [distance.value, *([shown.halves[n].value] if shown.halves else [])]
            table.add_row(distance.group, distance.figure, distance.measure, *map(_text, values))
        table_console(sys.stdout).print(table)
    for target, found in shown.checked:
        _print_check(target, found)


def _print_candidates(shown: _Shown) -> None:
    made, console = shown.made, table_console(sys.stdout)
    click.echo(f"Arrivals: {made.chosen}. Distances of those that were tried, octaves:")
    tried = table_of("Arrivals", ">Index of dispersion", ">Gaps")
    for one in made.candidates:
        tried.add_row(one.process, _text(one.dispersion), _text(one.gaps))
    console.print(tried)
    if made.fit.closed_share is not None:
        click.echo(
            f"  closed loop: {100 * made.fit.closed_share:.1f} % of the time at one depth (90 % needed)"
        )
    if shown.model:
        click.echo(f"Places: {shown.model.chosen_places}. Distances of those that were tried:")
        places = table_of("Places", ">Hot and cold", ">Miss ratio")
        for place in shown.model.place_candidates:
            places.add_row(place.places, _text(place.hot_cold), _text(place.miss_ratio))
        console.print(places)


def _print_check(target: str, found: Sequence[Behavior]) -> None:
    missed = sum(one.holds is False for one in found)
    limited = sum(one.holds is not None for one in found)
    click.echo(f"\n{target}: {limited - missed} of {limited} figures are within their limits")
    table = table_of("Figure", "Unit", ">Trace", ">Synthetic", ">Difference, %", ">Limit, %", "")
    for one in found:
        verdict = "" if one.holds is None else "holds" if one.holds else "missed"
        limit = "" if one.limit_pct is None else f"{one.limit_pct:g}"
        difference = "unknown" if one.difference_pct is None else f"{one.difference_pct:+.1f}"
        table.add_row(
            one.figure, one.unit, f"{one.trace:,.4g}", f"{one.synthetic:,.4g}", difference, limit, verdict
        )
    table_console(sys.stdout).print(table)


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
