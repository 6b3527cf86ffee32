"""How a program of ours answers the runner: operations on standard input, columns of numbers on its output.

Imported by those programs: nothing here may cost a start, or run beside them.
"""

import gc
import sys
from array import array
from collections.abc import Callable
from typing import Final

from openpts.parent_process import end_with_parent

READY: Final = b"ready\n"
Columns = tuple["array[int]", "array[int]", "array[int]"]


def new_columns() -> Columns:
    """Three empty columns."""
    return array("q"), array("q"), array("q")


def answer(work: Callable[[str, int], Columns], parent: int) -> None:
    """Carry out operations, each with its deadline on the monotonic clock, until the runner ends."""
    end_with_parent(parent)
    gc.disable()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin:
        operation, deadline_ns = line.split()
        columns = work(operation, int(deadline_ns))
        sys.stdout.buffer.write(b"%d\n" % len(columns[0]))
        for column in columns:
            sys.stdout.buffer.write(column.tobytes())
        sys.stdout.buffer.flush()
