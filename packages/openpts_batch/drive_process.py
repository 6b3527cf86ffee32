"""The process of one drive of a batch: openpts itself, which ends when the batch does.

``python -m openpts_batch.drive_process PID WORD...`` is ``openpts WORD...`` as long as process PID, its
parent, lives. A batch that is killed leaves nothing behind that writes to a drive: the kernel sends SIGTERM,
on which a run ends as on Ctrl-C, with a record that can be resumed.
"""

import signal
import sys
from importlib import import_module

from openpts.parent_process import end_with_parent


def main() -> None:
    """Be openpts, unless the parent has gone already."""
    parent, *arguments = sys.argv[1:]
    end_with_parent(int(parent), signal.SIGTERM)
    sys.argv[1:] = arguments
    # by name: the command line is above this room
    import_module("openpts.cli.main").main()


if __name__ == "__main__":
    main()
