"""What wears a drive: a rate that is stated, that of a trace, or what was measured while programs worked."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import TraceError, UsageError
from openpts.units import NS_PER_S, S_PER_YEAR, parse_size_bytes
from openpts_traces.treatment import Input, check

S_PER_DAY: Final = 24 * 3600
_PER: Final = {"s": 1, "h": 3600, "day": S_PER_DAY, "year": S_PER_YEAR}
_RATE: Final = re.compile(r"(?P<amount>[0-9.]+ ?[A-Za-z]+)(?:/| per )(?P<per>s|h|day|year)")
_DWPD: Final = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?) ?DWPD", re.IGNORECASE)


class Rate(Struct, frozen=True):
    """Bytes that the host writes each second; ``text`` says where they come from."""

    bytes_per_s: float
    text: str


class LoadProgram(Struct, frozen=True):
    """A program of the operator's that is run while it is measured what it writes."""

    arguments: tuple[str, ...]


def like(text: str, capacity_bytes: int) -> Rate | LoadProgram:
    """A rate (``50GB/day``, ``0.3 DWPD``), a trace's, or a program with its arguments, without a shell.

    Raises UsageError for what is none of them, TraceError for a trace that can't be read.
    """
    if (dwpd := _DWPD.fullmatch(text)) is not None:
        return Rate(float(dwpd["amount"]) * capacity_bytes / S_PER_DAY, f"{text}, as stated")
    if (rate := _RATE.fullmatch(text)) is not None:
        return Rate(parse_size_bytes(rate["amount"].replace(" ", "")) / _PER[rate["per"]], "as stated")
    arguments = shlex.split(text)
    if arguments and shutil.which(arguments[0]):
        return LoadProgram(tuple(arguments))
    path = Path(text)
    if not path.is_file():
        raise UsageError(
            f"--like {text!r} is no rate (50GB/day, 3MB/s, 0.3DWPD), no program, and no file with a trace"
        )
    figures = check(Input((text,)), lambda _ios: None).figures
    if figures is None or not figures.span_ns:
        raise TraceError(f"can't tell what {path.name} writes each second: its I/Os are of one moment")
    written = figures.operations.get("write")
    seconds = figures.span_ns / NS_PER_S
    return Rate(
        written.bytes / seconds if written else 0.0, f"of the trace {path.name}, {seconds:,.0f} s long"
    )
