"""`openpts predict`: what a drive's twin says of a test, a trace or a job that the drive has not seen."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import click

from openpts.cli.options import FOLDER, argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.device.targets.simulated_target import MOST_SCALE
from openpts_twin.documents import Prediction, PredictionDocument

_JOBS: Final = (".fio", ".job", ".ini")
_RECIPE: Final = "recipe:"
_REPLAY: Final = "replay"


@click.command(short_help="Predict a test from a drive's twin.")
@with_options
def predict(
    *,
    preset: str = argument("PRESET"),
    test: str = argument("TEST|TRACE|JOB"),
    options: tuple[str, ...] = argument("[-- OPTION...]", nargs=-1),
    against: Path | None = option("RUN", "Show what was measured in this run beside it.", FOLDER),
    scale: int | None = option(
        "N",
        "Pages of the drive for each simulated page; that of the fit, and 1 for a trace.",
        click.IntRange(1, MOST_SCALE),
    ),
    out: Path | None = option("FOLDER", "Keep the simulated runs here, which must be new or empty.", FOLDER),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Predict a test in virtual time: it runs on the twin, and on what agrees with the fit about as well.

    PRESET is the path of what `openpts fit` wrote, or any other preset, whose values have no interval.
    TEST is a test by its name, a TRACE or recipe:NAME is replayed, and a JOB of fio (.fio, .job, .ini) runs
    as `openpts run workload` does. OPTIONs behind -- are those of `openpts run` for it. The drive is not
    needed.
    """
    from openpts.cli.terminal import draw_over  # noqa: PLC0415 help needs nothing that runs
    from openpts.record.reader import read_run  # noqa: PLC0415 likewise
    from openpts.simulation.presets import SHIPPED, load_preset  # noqa: PLC0415 likewise
    from openpts.temporary_folder import temporary_folder  # noqa: PLC0415 likewise
    from openpts_twin.twin.predict import predict as predicted  # noqa: PLC0415 likewise
    from openpts_twin.twin.twin_file import read_fit  # noqa: PLC0415 likewise

    place = load_preset(preset).place
    fit = None if place == SHIPPED else read_fit(Path(place))
    name, load = _test_of(test)
    measured = None if against is None else read_run(against)
    with temporary_folder("predict") as own:
        found = predicted(
            name,
            preset if place == SHIPPED else place,
            options,
            out or own,
            load=load,
            fit=fit,
            scale=scale or (1 if name == _REPLAY else fit.scale if fit else None),
            against=measured,
            tell=lambda text: draw_over(sys.stderr, text),
        )
    draw_over(sys.stderr)
    if as_json:
        shown = None if against is None else str(against)
        print_document(PredictionDocument(preset=preset, test=name, against=shown, predictions=tuple(found)))
    else:
        _print_predictions(sys.stdout, f"{name} on {preset}", found, has_fit=fit is not None, against=against)


def _test_of(word: str) -> tuple[str, str | None]:
    """The test, and the job or trace that it applies where the word names one."""
    if not Path(word).is_file() and not word.startswith(_RECIPE):
        return word, None
    return ("workload" if word.endswith(_JOBS) else _REPLAY), word


def _print_predictions(
    stream: IO[str], title: str, found: Sequence[Prediction], *, has_fit: bool, against: Path | None
) -> None:
    """Every value with its interval, and with what was measured where a run is named."""
    from openpts.cli.console import table_of  # noqa: PLC0415 likewise
    from openpts.cli.sim import print_parts  # noqa: PLC0415 likewise

    print_parts(stream, f"PREDICTED, not measured: {title}")
    beside = (">Measured", ">Error") if against else ()
    table = table_of("", ">Predicted", ">95 % interval", "Unit", *beside)
    for one in found:
        ends = [_write_value(end) for end in (one.low, one.high) if end is not None]
        row = [one.label, _write_value(one.value), " to ".join(ends), one.unit]
        if against:
            error = one.error_pct
            row += [_write_value(one.measured), "" if error is None else f"{error:+.1f} %"]
        table.add_row(*row)
    print_parts(stream, table)
    if not has_fit:
        print_parts(stream, "no interval: there is no fit beside the preset, or it was edited since")


def _write_value(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
