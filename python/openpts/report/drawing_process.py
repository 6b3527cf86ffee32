"""A process that draws: a figure's id and its specification come in as a line each, an SVG goes out.

An empty specification asks for the libraries of pages to be put together and kept (``vega_bundle``).

Started by ``drawing_pool``. It knows nothing of reports, so that it is ready when the first figure is.
"""

import signal
import sys

import msgspec

from openpts.report.vega_bundle import javascript_bundle
from openpts.report.vega_svg import plot_svg

_WARM_UP = '{"mark":"point","data":{"values":[]},"encoding":{"x":{"field":"x"}}}'


def main() -> None:
    """Draw until the input ends. What Vega refuses goes back as its message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the report's process decides when to end
    plot_svg(_WARM_UP, "warm-up")
    while figure_id := sys.stdin.buffer.readline().decode().rstrip("\n"):
        reply = _drawn(sys.stdin.buffer.readline().decode(), figure_id)
        sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
        sys.stdout.buffer.flush()


def _drawn(spec: str, figure_id: str) -> dict[str, str]:
    if spec == "\n":
        javascript_bundle()
        return {"svg": ""}
    try:
        return {"svg": plot_svg(spec, figure_id)}
    except ValueError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
