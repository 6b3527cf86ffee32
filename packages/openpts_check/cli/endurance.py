"""`openpts check --for endurance`: how long a drive lasts under the operator's own load, by its own log."""

import sys
from collections.abc import Iterator
from typing import Final, Self

import click
from msgspec import Struct

from openpts.analysis.health_change import change, write_amplification
from openpts.cli.printed_document import print_document
from openpts.cli.terminal import wrapped
from openpts.errors import NoVerdictError, UsageError
from openpts.system_files import SystemRoots
from openpts.units import S_PER_YEAR, TB, format_capacity, format_significant
from openpts.vocabulary.document import Document
from openpts_check.endurance import Endurance
from openpts_check.fuller import FILLS_PCT, USUAL_SPARE, amplification_when_full
from openpts_check.load import S_PER_DAY, LoadProgram, Rate, like
from openpts_check.worn import Stretch, WornDrive

_STRETCH_S: Final = 60.0
_MOST_YEARS: Final = 1000
_TERABYTES_FROM: Final = 10 * TB


class Fuller(Struct, frozen=True, kw_only=True):
    """What a drive that is full to ``full_pct`` writes to its flash per byte of the host's, at the most.

    ``years`` by the rated endurance then, at the least; null where that, or how full it is now, is not known.
    """

    full_pct: float
    amplification: float
    years: float | None


class EnduranceDocument(Document, frozen=True, kw_only=True, tag="openpts.endurance/1"):
    """A drive's life under a load. Null is what nothing tells.

    ``rated_bytes`` is what the host may write in all: ``--tbw``, or a simulated drive's own. ``log_bytes`` is
    the same by the drive's log: what was written so far, over the share of its life that is gone.
    """

    drive: str
    load: str
    bytes_per_s: float
    drive_writes_per_day: float
    measured_s: float | None
    host_bytes: float | None
    kernel_bytes: float | None
    media_bytes: float | None
    amplification: float | None
    written_bytes: float | None
    percentage_used: float | None
    rated_bytes: float | None
    log_bytes: float | None
    years_by_rating: float | None
    years_by_log: float | None
    full_pct: float | None
    fuller: tuple[Fuller, ...]
    log: str

    @classmethod
    def by(cls, drive: WornDrive, rate: Rate, stretch: Stretch | None, tbw_bytes: float | None) -> Self:
        """What follows for a load."""
        log = drive.log() if stretch is None else stretch.after
        first = {} if stretch is None else stretch.before.values
        rated_bytes = tbw_bytes or drive.tbw_bytes
        written = log.values.get("host_write_bytes")
        endurance = Endurance.of(log, log)
        left_bytes = None if rated_bytes is None else max(0.0, rated_bytes - (written or 0))
        years = _years(left_bytes, rate.bytes_per_s)
        return cls(
            drive=drive.name,
            load=rate.text,
            bytes_per_s=rate.bytes_per_s,
            drive_writes_per_day=rate.bytes_per_s * S_PER_DAY / drive.capacity_bytes,
            measured_s=None if stretch is None else stretch.lasted_s,
            host_bytes=change(first, log.values, "host_write_bytes"),
            kernel_bytes=None if stretch is None else float(stretch.kernel_bytes),
            media_bytes=change(first, log.values, "nand_write_bytes"),
            amplification=write_amplification(first, log.values),
            written_bytes=written,
            percentage_used=log.values.get("percentage_used_pct"),
            rated_bytes=rated_bytes,
            log_bytes=None if endurance is None else endurance.rated_bytes,
            years_by_rating=years,
            years_by_log=None if endurance is None else endurance.years_at(rate.bytes_per_s),
            full_pct=drive.full_pct,
            fuller=tuple(_fuller(full_pct, drive.full_pct, years) for full_pct in FILLS_PCT),
            log=log.source,
        )


def _years(left_bytes: float | None, bytes_per_s: float) -> float | None:
    return left_bytes / bytes_per_s / S_PER_YEAR if left_bytes is not None and bytes_per_s else None


def _fuller(full_pct: float, now_pct: float | None, years: float | None) -> Fuller:
    amplification = amplification_when_full(full_pct)
    then = None
    if years is not None and now_pct is not None:
        then = years * min(1.0, amplification_when_full(now_pct) / amplification)
    return Fuller(full_pct=full_pct, amplification=amplification, years=then)


def answer_endurance(
    target: str, like_text: str | None, tbw_bytes: int | None, minutes: float | None, *, as_json: bool
) -> int:
    """Print how long a drive lasts, and return the exit code.

    Nothing is written but by the operator's programs. Without ``like_text``, what they write meanwhile
    counts.
    """
    drive = WornDrive.of(target, SystemRoots())
    load = None if like_text is None else like(like_text, drive.capacity_bytes)
    stretch = None
    if not isinstance(load, Rate):
        arguments = load.arguments if isinstance(load, LoadProgram) else ()
        stretch = _measured(drive, minutes, arguments)
        load = _rate_of(stretch, arguments)
    elif minutes is not None:
        raise UsageError("--minutes: a stated rate, or that of a trace, is not measured")
    document = EnduranceDocument.by(drive, load, stretch, tbw_bytes)
    if as_json:
        print_document(document)
    else:
        for line in endurance_lines(document):
            click.echo(wrapped(line, sys.stdout, indent=" " * 12))
    answers = document.years_by_rating is not None or document.years_by_log is not None
    return 0 if answers else NoVerdictError.exit_code


def _measured(drive: WornDrive, minutes: float | None, arguments: tuple[str, ...]) -> Stretch:
    if drive.device is None:
        raise UsageError("no program works on a simulated drive: give --like a rate or a trace")
    seconds = None if minutes is None and arguments else 60 * minutes if minutes else _STRETCH_S
    what = f"while {arguments[0]} runs" if arguments else f"for {seconds:g} s: let your programs work"
    click.echo(wrapped(f"measuring what is written to {drive.device.node} {what}", sys.stderr), err=True)
    return drive.stretch(seconds, arguments)


def _rate_of(stretch: Stretch, arguments: tuple[str, ...]) -> Rate:
    """By the drive's own log where it counts what its host writes, else by the kernel."""
    by_log = change(stretch.before.values, stretch.after.values, "host_write_bytes")
    text = f"of {arguments[0]}, measured" if arguments else "measured"
    if by_log:
        return Rate(by_log / stretch.lasted_s, f"{text} by the drive's log")
    return Rate(stretch.kernel_bytes / stretch.lasted_s, f"{text} by the kernel's count")


def endurance_lines(found: EnduranceDocument) -> Iterator[str]:
    """The answer on one screen."""
    yield f"Drive       {found.drive}"
    day, dwpd = _amount(found.bytes_per_s * S_PER_DAY), found.drive_writes_per_day
    yield f"Load        {day} a day, {format_significant(dwpd)} drive writes per day (DWPD), {found.load}"
    if found.measured_s is not None:
        yield f"Measured    {found.measured_s:,.0f} s: {_amounts(found)}"
    yield f"Years       {_years_text(found)}"
    yield f"Life        {_life_text(found)}"
    yield from _fuller_lines(found)
    yield f"How sure    the log: {found.log}"
    if found.measured_s is not None:
        yield "            a stretch is a sample: --minutes 1440 measures a day, with updates and backups"


def _amount(amount_bytes: float) -> str:
    """Text of an amount: large ones in TB, as endurance is stated."""
    if amount_bytes < _TERABYTES_FROM:
        return format_capacity(round(amount_bytes))
    return f"{format_significant(amount_bytes / TB)} TB"


def _amounts(found: EnduranceDocument) -> str:
    parts = [
        f"{_amount(amount)} {words}"
        for amount, words in (
            (found.host_bytes, "written by the host, by the drive's log"),
            (found.kernel_bytes, "by the kernel's count"),
            (found.media_bytes, "to the flash"),
        )
        if amount is not None
    ]
    factor = found.amplification
    ratio = "" if factor is None else f" (write amplification, WAF, {factor:.2f})"
    return f"{', '.join(parts)}{ratio}"


def _years_text(found: EnduranceDocument) -> str:
    known = [
        f"{_number(years)} by {words}"
        for years, words in (
            (found.years_by_rating, "its rated endurance"),
            (found.years_by_log, "the wear that its log tells"),
        )
        if years is not None
    ]
    if known:
        return " and ".join(known)
    if not found.bytes_per_s:
        return "can't say: nothing was written; run it while your programs work, or give --like 50GB/day"
    return "can't say: the log tells of no wear; give the rated endurance of the data sheet, as --tbw 600"


def _number(years: float) -> str:
    return f"more than {_MOST_YEARS:,}" if years > _MOST_YEARS else format_significant(years)


def _life_text(found: EnduranceDocument) -> str:
    parts = []
    if found.written_bytes is not None:
        parts.append(f"{_amount(found.written_bytes)} written so far")
    if found.percentage_used is not None:
        parts.append(f"{found.percentage_used:g} % of its life used")
    for amount, words in ((found.rated_bytes, "rated (TBW)"), (found.log_bytes, "in all, by its log")):
        if amount is not None:
            parts.append(f"{_amount(amount)} {words}")
    return ", ".join(parts) or "the drive tells nothing of it"


def _fuller_lines(found: EnduranceDocument) -> Iterator[str]:
    texts = []
    for one in found.fuller:
        then = "" if one.years is None else f", {_number(one.years)} years at least"
        texts.append(f"{one.full_pct:g} % full up to {one.amplification:.1f} x{then}")
    now = "" if found.full_pct is None else f" (now {found.full_pct:.0f} %)"
    yield f"Fuller      flash written per byte of random writes{now}: {'; '.join(texts)}"
    yield (
        f"            by theory, with {100 * USUAL_SPARE:g} % of spare flash, and all that is free trimmed; "
        "sequential writes stay near 1"
    )
