"""What `openpts predict` prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from openpts.cli.console import table_of
from openpts.cli.sim import print_parts
from openpts_twin.documents import Prediction


def print_predictions(
    stream: IO[str], title: str, found: Sequence[Prediction], *, has_fit: bool, against: Path | None
) -> None:
    """Every value with its interval, and with what was measured where a run is named."""
    print_parts(stream, f"PREDICTED, not measured: {title}")
    beside = (">Measured", ">Error") if against else ()
    table = table_of("", ">Predicted", ">95 % interval", "Unit", *beside)
    for one in found:
        interval = (
            ""
            if one.low is None or one.high is None
            else f"{_write_value(max(one.low, 0.0))} to {_write_value(one.high)}"
        )
        row = [one.label, _write_value(one.value), interval, one.unit]
        if against:
            error = one.error_pct
            row += [
                "" if one.measured is None else _write_value(one.measured),
                "" if error is None else f"{error:+.1f} %",
            ]
        table.add_row(*row)
    print_parts(stream, table)
    if not has_fit:
        print_parts(stream, "no interval: there is no fit beside the preset, or it was edited since")


def _write_value(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
