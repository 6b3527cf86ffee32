"""A process that draws: a specification comes in as a line, an SVG goes out, and is kept (``drawing_cache``).

An empty specification asks for the libraries of pages to be put together and kept (``vega_bundle``).

Started by ``drawing_pool``. It knows nothing of reports, so that it is ready when the first figure is.
"""

import sys

import msgspec

from openpts.plots.drawing_cache import made_drawing
from openpts.plots.helper_signals import end_with_the_report
from openpts.plots.vega_bundle import javascript_bundle
from openpts.plots.vega_svg import drawing

_WARM_UP = '{"mark":"point","data":{"values":[]},"encoding":{"x":{"field":"x"}}}'


def main() -> None:
    """Draw until the input ends. What Vega refuses goes back as its message."""
    end_with_the_report()
    drawing(_WARM_UP)
    while spec := sys.stdin.buffer.readline().decode():
        sys.stdout.buffer.write(msgspec.json.encode(_drawn(spec.rstrip("\n"))) + b"\n")
        sys.stdout.buffer.flush()


def _drawn(spec: str) -> dict[str, str]:
    if not spec:
        javascript_bundle()
        return {"svg": ""}
    try:
        return {"svg": made_drawing(spec)}
    except ValueError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
