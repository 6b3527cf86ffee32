"""The process of a detached run: openpts itself, observed by what started it until its run has begun.

``python -m openpts.cli.detached PLACE WORD...`` is ``openpts WORD...``; see ``openpts.cli.detach``.
"""

import sys

from openpts.cli.detach import ended, report_to
from openpts.cli.main import main


def run() -> None:
    """Be openpts, and say how it ended if it began no run."""
    place, *arguments = sys.argv[1:]
    sys.argv[1:] = arguments
    report_to(place)
    try:
        main()
    except SystemExit as end:
        ended(end.code if isinstance(end.code, int) else 1)
        raise


if __name__ == "__main__":
    run()
