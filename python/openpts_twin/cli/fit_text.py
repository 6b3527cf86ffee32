"""What `openpts fit` prints of a twin."""

from typing import IO

from openpts.cli.console import table_of
from openpts.cli.sim import print_parts
from openpts_twin.documents import FitDocument


def print_fit(stream: IO[str], document: FitDocument) -> None:
    """The values found, what was assumed, and how near the twin is to what was measured."""
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
