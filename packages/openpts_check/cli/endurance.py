"""`openpts check --for endurance`: how long a drive lasts under the operator's own load, by its own log."""

import math
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import click
from msgspec import Struct

from openpts.cli.standard_streams import print_document, wrapped
from openpts.device.block_device import BlockDevice, device_of_mount
from openpts.device.identity import dut_facts
from openpts.errors import NoVerdictError, TargetError, TraceError, UsageError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots, printable, read_mounts
from openpts.units import NS_PER_S, S_PER_YEAR, TB, format_capacity, format_significant, parse_size_bytes
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import HealthReading, TargetFacts, TargetKind, fact_of
from openpts_check.seen import Endurance
from openpts_drives.health.health import read_health_of
from openpts_drives.mounted.directory import DirectoryTarget, device_counts
from openpts_sim.presets import load_preset
from openpts_sim.simulated_target import names_simulated, parse_simulated_target
from openpts_traces.capture.program import RunningProgram
from openpts_traces.treatment import Input, check
from openpts_work.counters import change, write_amplification

_LOOK_S: Final = 0.1
_NO_LOG: Final = HealthReading("a simulated drive that is new")


class Stretch(Struct, frozen=True):
    """What was written in ``lasted_s``: by the kernel's count, and by two readings of the drive's log."""

    lasted_s: float
    kernel_bytes: int
    before: HealthReading
    after: HealthReading


class WornDrive(Struct, frozen=True):
    """``device`` is None for a simulated drive. ``tbw_bytes`` is what its maker promises, None if unknown.

    ``full_pct`` is the share of the capacity that mounted file systems have taken; None where none is.
    """

    name: str
    capacity_bytes: int
    device: BlockDevice | None
    tbw_bytes: float | None = None
    full_pct: float | None = None

    @classmethod
    def of(cls, text: str, roots: SystemRoots) -> Self:
        """What the operator named: a drive, a directory on one, or a simulated drive. Raises TargetError."""
        if names_simulated(text):
            target = parse_simulated_target(text)
            tbw = load_preset(target.preset, target.parameters).rated.get("tbw")
            capacity = UnopenedTarget.of(text, roots).facts.user_capacity_bytes
            return cls(printable(text), capacity, None, None if tbw is None else tbw * TB)
        path = Path(text)
        if path.is_block_device():
            device = BlockDevice.of_node(path, roots).whole
        else:
            directory = DirectoryTarget.of(text, roots)
            if directory is None:
                raise TargetError(f"{printable(text)} is neither a drive nor a directory on one")
            device = directory.device.whole
        described = TargetFacts(TargetKind.BLOCK, device.name, str(device.node), device.capacity_bytes, 512)
        facts = dut_facts(described, roots)
        name = " ".join(filter(None, (fact_of(facts, "model"), fact_of(facts, "serial"))))
        full_pct = _full_pct(device, roots)
        return cls(f"{device.node} {name}".strip(), device.capacity_bytes, device, None, full_pct)

    def log(self) -> HealthReading:
        """What its log says now; never raises."""
        return _NO_LOG if self.device is None else read_health_of(self.device)

    def stretch(self, seconds: float | None, arguments: tuple[str, ...]) -> Stretch:
        """What is written in so many seconds, or while a program runs. Raises UsageError if there is none."""
        assert self.device is not None  # noqa: S101 asked of drives that exist alone
        with RunningProgram(arguments) as program:
            before, counted = self.log(), device_counts(self.device).written_bytes
            began = time.monotonic()
            program.start()
            while not program.has_ended() and (seconds is None or time.monotonic() - began < seconds):
                time.sleep(_LOOK_S)
        os.sync()  # what the program has left in memory is its own, too
        lasted_s = time.monotonic() - began
        written = device_counts(self.device).written_bytes - counted
        return Stretch(lasted_s, written, before, self.log())


def _full_pct(device: BlockDevice, roots: SystemRoots) -> float | None:
    """Each file system counts once, however often it is mounted."""
    used: dict[str, int] = {}
    for mount in read_mounts(roots):
        below = device_of_mount(mount, roots)
        if below is None or device.name not in {one.name for one in (below.whole, *below.whole.beneath)}:
            continue
        with suppress(OSError):  # a mount that is covered by another one, or that this user can't see
            status = os.statvfs(mount.mount_point)
            used[mount.device] = (status.f_blocks - status.f_bfree) * status.f_frsize
    return 100 * sum(used.values()) / device.capacity_bytes if used and device.capacity_bytes else None


S_PER_DAY: Final = 24 * 3600
_PER: Final = {"s": 1, "h": 3600, "day": S_PER_DAY, "year": S_PER_YEAR}
_RATE: Final = re.compile(r"(?P<amount>[0-9.]+ ?[A-Za-z]+)(?:/| per )(?P<per>s|h|day|year)")
_DWPD: Final = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?) ?DWPD", re.IGNORECASE)


class Rate(Struct, frozen=True):
    """Bytes that the host writes each second; ``text`` says where they come from."""

    bytes_per_s: float
    text: str


def like(text: str, capacity_bytes: int) -> Rate | tuple[str, ...]:
    """A rate (``50GB/day``, ``0.3 DWPD``), a trace's, or a program with its arguments, without a shell.

    Raises UsageError for what is none of them, TraceError for a trace that can't be read.
    """
    if (dwpd := _DWPD.fullmatch(text)) is not None:
        return Rate(float(dwpd["amount"]) * capacity_bytes / S_PER_DAY, f"{text}, as stated")
    if (rate := _RATE.fullmatch(text)) is not None:
        return Rate(parse_size_bytes(rate["amount"].replace(" ", "")) / _PER[rate["per"]], "as stated")
    if (arguments := shlex.split(text)) and shutil.which(arguments[0]):
        return tuple(arguments)
    path = Path(text)
    if not path.is_file():
        raise UsageError(
            f"--like {text!r} is no rate (50GB/day, 3MB/s, 0.3DWPD), no program, and no file with a trace"
        )
    figures = check(Input((text,)), lambda _ios: None).figures
    if figures is None or not figures.span_ns:
        raise TraceError(f"the rate of {path.name} is unknown: its I/Os are of one moment")
    written = figures.operations.get("write")
    seconds = figures.span_ns / NS_PER_S
    return Rate(
        written.bytes / seconds if written else 0.0, f"of the trace {path.name}, {seconds:,.0f} s long"
    )


USUAL_SPARE: Final = 0.07
"""Flash beyond the user capacity, as its share: what GiB have over GB, which SSDs have at the least."""

FILLS_PCT: Final = (50, 75, 90, 100)

_STEPS: Final = 200  # of bisection: more than a double can tell apart


def amplification_when_full(full_pct: float, spare: float = USUAL_SPARE) -> float:
    """Bytes to the flash per byte of the host's on a drive that is full to so many per cent of its capacity.

    What is free is trimmed, so that the drive knows it; ``spare`` is above 0.
    """
    utilization = full_pct / 100 / (1 + spare)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if (middle - 1) / math.log(middle) < utilization:
            low = middle
        else:
            high = middle
    return 1 / (1 - low)


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

    @property
    def text(self) -> str:
        """``90 % full up to 3.4 x, 12 years at least``."""
        then = "" if self.years is None else f", {_number(self.years)} years at least"
        return f"{self.full_pct:g} % full up to {self.amplification:.1f} x{then}"


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
        years = None
        if rated_bytes is not None and rate.bytes_per_s:
            years = max(0.0, rated_bytes - (written or 0)) / rate.bytes_per_s / S_PER_YEAR
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

    def lines(self) -> Iterator[str]:
        """The same on one screen."""
        yield f"Drive       {self.drive}"
        day, dwpd = _amount(self.bytes_per_s * S_PER_DAY), format_significant(self.drive_writes_per_day)
        yield f"Load        {day} a day, {dwpd} drive writes per day (DWPD), {self.load}"
        if self.measured_s is not None:
            factor = self.amplification
            ratio = "" if factor is None else f" (write amplification, WAF, {factor:.2f})"
            yield f"Measured    {self.measured_s:,.0f} s: {', '.join(self._amounts(_MEASURED))}{ratio}"
        yield f"Years       {self._years_text}"
        yield f"Life        {', '.join(self._life()) or 'the drive reports nothing of it'}"
        now = "" if self.full_pct is None else f" (now {self.full_pct:.0f} %)"
        fuller = "; ".join(one.text for one in self.fuller)
        yield f"Fuller      flash written per byte of random writes{now}: {fuller}"
        yield (
            f"            by theory, with {100 * USUAL_SPARE:g} % of spare flash, and all that is free "
            "trimmed; sequential writes stay near 1"
        )
        yield f"How sure    the log: {self.log}"
        if self.measured_s is not None:
            yield "            a stretch is a sample: --minutes 1440 measures a day, with updates and backups"

    def _amounts(self, texts: Mapping[str, str]) -> Iterator[str]:
        """Amounts that are known, each with what it is."""
        for name, text in texts.items():
            if (amount := getattr(self, name)) is not None:
                yield f"{_amount(amount)} {text}"

    def _life(self) -> Iterator[str]:
        yield from self._amounts({"written_bytes": "written so far"})
        if self.percentage_used is not None:
            yield f"{self.percentage_used:g} % of its life used"
        yield from self._amounts({"rated_bytes": "rated (TBW)", "log_bytes": "in all, by its log"})

    @property
    def _years_text(self) -> str:
        known = []
        if self.years_by_rating is not None:
            known.append(f"{_number(self.years_by_rating)} by its rated endurance")
        if self.years_by_log is not None:
            known.append(f"{_number(self.years_by_log)} by the wear in its log")
        if known:
            return " and ".join(known)
        if not self.bytes_per_s:
            return "can't say: nothing was written; run it while your programs work, or give --like 50GB/day"
        return "can't say: the log has no wear; give the rated endurance of the data sheet, as --tbw 600"


_MEASURED: Final = {
    "host_bytes": "written by the host, by the drive's log",
    "kernel_bytes": "by the kernel's count",
    "media_bytes": "to the flash",
}


def _amount(amount_bytes: float) -> str:
    """Text of an amount: large ones in TB, as endurance is stated."""
    if amount_bytes < _TERABYTES_FROM:
        return format_capacity(round(amount_bytes))
    return f"{format_significant(amount_bytes / TB)} TB"


def _number(years: float) -> str:
    return f"more than {_MOST_YEARS:,}" if years > _MOST_YEARS else format_significant(years)


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
        stretch = _measured(drive, minutes, load or ())
        load = _rate_of(stretch, load or ())
    elif minutes is not None:
        raise UsageError("--minutes: a stated rate, or that of a trace, is not measured")
    document = EnduranceDocument.by(drive, load, stretch, tbw_bytes)
    if as_json:
        print_document(document)
    else:
        for line in document.lines():
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
