"""Work counted by the lines that the interpreter carries out: a busy machine changes none of them."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(work: Callable[[], object]) -> int:
    """Lines of functions written in Python, in this thread, a line of a loop each time that it comes round;
    what is written in C counts as nothing.
    """
    lines = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
