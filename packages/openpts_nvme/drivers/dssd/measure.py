"""What acts measure with: figures and probes by their names, and times of reads beside other work."""

import threading
import time
from collections.abc import Callable
from typing import Final

from openpts_nvme.drivers.dssd.ask import Asker
from openpts_nvme.drivers.dssd.door import AdminCommand, Door
from openpts_nvme.dssd.answers import Answers, CommandResult

READ_BYTES: Final = 4096
FILL_BYTES: Final = 128 << 10


def measured(answers: Answers, name: str, value: float) -> None:
    """A figure that checks know as ``M.name``."""
    answers[f"M.{name}"] = CommandResult(repr(float(value)).encode())


def probed(asker: Asker, answers: Answers, name: str, order: AdminCommand) -> int:
    """A command whose status checks know as ``P.name``."""
    reply = asker.send(order)
    answers[f"P.{name}"] = CommandResult(status=reply.status) if reply.status else CommandResult(reply.data)
    return reply.status


def different(one: bytes, two: bytes) -> int:
    """How many bytes differ."""
    return sum(a != b for a, b in zip(one, two, strict=True))


def number_at(answer: CommandResult, at: int, size: int) -> int:
    """A field of a page; 0 where there is none."""
    return int.from_bytes(answer.data[at : at + size], "little")


def reads(door: Door, span: int, work: Callable[[], object]) -> list[float]:
    """Times of reads among ``span`` places, in s, while work is done in another thread."""
    thread = threading.Thread(target=work)
    times: list[float] = []
    thread.start()
    place = 1
    while thread.is_alive():
        place = place * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        begin = time.monotonic()
        door.read(place % span * READ_BYTES, READ_BYTES)
        times.append(time.monotonic() - begin)
    thread.join()
    return times
