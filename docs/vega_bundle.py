"""Writes Vega, Vega-Lite and Vega-Embed as one script for the pages of reports: it sets ``window.vegaEmbed``.

    python -m docs.vega_bundle

It is that of the vl-convert in constraints.txt, compressed as pages hold it. To put it together takes two
seconds of a processor's time, which each first report would take.
"""

import zlib

import vl_convert

from openpts_pages.html import VEGA


def main() -> None:
    """Renew the file."""
    script = vl_convert.javascript_bundle()  # type: ignore[call-arg] # the stub lacks its default
    VEGA.write_bytes(zlib.compress(script.encode(), 9))


if __name__ == "__main__":
    main()
