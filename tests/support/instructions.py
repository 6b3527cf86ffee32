"""Work counted by the instructions that the interpreter carries out: a busy machine changes none of them."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions_of(work: Callable[[], object]) -> int:
    """Instructions of functions written in Python, in this thread; what is written in C counts as one."""
    instructions = 0

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal instructions
        if event == "call":
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        instructions += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return instructions
