"""`python -m openpts_testbench`: a simulated drive behind the kernel's own NVMe driver, by NVMe over TCP."""

import re
import signal
import sys
import time
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from openpts.cli.options import PATH, FiniteRange, argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.errors import OpenptsError, UsageError
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.vocabulary.document import Document
from openpts_sim.simulated_target import parse_simulated_target
from openpts_testbench.overrides import read_overrides
from openpts_testbench.serve import ServeOrder, checked_address, host_and_port, serve_drive
from openpts_testbench.served_drive import Access, Faults, ServedDrive

_LOOK_S: Final = 0.1
_DELAY: Final = FiniteRange(0, 120)
_READ_FAULT: Final = re.compile(r"read@([0-9]{1,18})")


@click.command()
@with_options
def serve(
    *,
    preset: str = argument(),
    address: str = option(
        "--nvme-tcp ADDRESS:PORT",
        "Listen on this address; beyond the loopback interface only with --auth-secrets.",
        required=True,
    ),
    auth_secrets: Path | None = option(
        "FILE",
        "Admit only hosts that prove their secret (DH-HMAC-CHAP): lines HOST-NQN SECRET [DRIVE-SECRET].",
        PATH,
    ),
    data: Path | None = option("", "Keep the contents in this (sparse) file.", PATH),
    overwrite_file: bool = flag("Overwrite a --data file that holds other data."),
    nqn: str | None = option("", "Name of the NVMe subsystem; by default one that follows from the drive."),
    serial: str | None = option("", "Serial number; by default one that follows from the drive."),
    ambient_c: float | None = option("C", "Air around the drive, in °C.", FiniteRange(-40, 100)),
    initial_wear_pct: float = option(
        "--initial-wear PCT",
        "Endurance used up already, in per cent of the rated erases.",
        FiniteRange(0, 250),
        default=0,
        show_default=False,
    ),
    fails: tuple[str, ...] = option(
        "--fail WHAT", "Fail on purpose: sanitize, format, or read@LBA; may be repeated.", multiple=True
    ),
    format_lies: bool = flag("Format and sanitize report success and erase nothing."),
    sanitize_takes_s: float = option(
        "--sanitize-takes SECONDS",
        "Shortest time of a sanitize's block or crypto erase; by default, what the flash needs.",
        FiniteRange(0, 86_400),
        default=0,
        show_default=False,
    ),
    security: str = option(
        "STATE",
        "Locking (TCG) that it reports and keeps to: opal-1, opal-2, enabled, locked, shadow-mbr, "
        "sid-blocked, enterprise, pyrite, ruby, or in broken answers, too-long or cut-off.",
        default="none",
        show_default=False,
    ),
    ready_after_s: float = option(
        "--ready-after SECONDS",
        "Time until a controller that was enabled is ready.",
        _DELAY,
        default=0,
        show_default=False,
    ),
    media_after_s: float = option(
        "--media-after SECONDS",
        "Time until its namespace is: before, it is not ready (82h).",
        _DELAY,
        default=0,
        show_default=False,
    ),
    volatile_cache: bool = flag(
        "Keep what is in the write cache in memory, so that kill -9 is a power cut. With `faults=` in the "
        "preset's name, it is anyway."
    ),
    vanish_after: int | None = option("IOS", "Disappear after this many I/Os.", click.IntRange(0)),
    overrides: Path | None = option(
        "--answers FILE", "Answer otherwise than the drive would: a TOML file of [[override]] tables.", PATH
    ),
) -> None:
    """Serve a simulated drive by NVMe over TCP, in wall-clock time, until Ctrl-C.

    PRESET is named as in `sim:PRESET?capacity=4GB&scale=1&seed=1&state=new`. Without a capacity the drive
    has 4 GB. What is written is kept and read back; each answer goes out when the simulated drive has it.
    Prints a JSON object at the beginning and one at the end.
    """
    target = parse_simulated_target(preset)
    faults = _faults(fails, format_lies=format_lies, vanishes_after_ios=vanish_after)
    if overrides is not None:
        faults = replace(faults, overrides=read_overrides(overrides))
    if volatile_cache or target.faults:
        faults = replace(faults, power=target.faults)
    order = ServeOrder(
        target=target,
        address=checked_address(address),
        nqn=nqn,
        serial=serial,
        data=data,
        overwrite_file=overwrite_file,
        auth_secrets=auth_secrets,
        ambient_c=ambient_c,
        initial_wear_pct=initial_wear_pct,
        sanitize_takes_s=sanitize_takes_s,
        access=Access(security, ready_after_s, media_after_s),
        faults=faults,
    )
    with terminate_as_interrupt(signal.SIGINT), serve_drive(order) as drive:
        try:
            _tell_begin(drive, order)
            while drive.is_serving:
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            pass
    print_document(ServingEnded.of(drive.served()), indent=None)


def _faults(fails: tuple[str, ...], *, format_lies: bool, vanishes_after_ios: int | None) -> Faults:
    unreadable = []
    for fail in fails:
        read = _READ_FAULT.fullmatch(fail)
        if read is not None:
            unreadable.append(int(read[1]))
        elif fail not in {"sanitize", "format"}:
            raise UsageError(f"invalid --fail {fail!r}: use sanitize, format, or read@LBA")
    return Faults(
        sanitize_fails="sanitize" in fails,
        format_fails="format" in fails,
        purge_lies=format_lies,
        unreadable_lbas=tuple(unreadable),
        vanishes_after_ios=vanishes_after_ios,
    )


class ServingBegun(Document, frozen=True, kw_only=True, tag="openpts.serving/1"):
    """The drive listens; ``data`` is the file of its contents, None if they are in memory.

    ``psid`` is the number on its label, by which it is reverted if it is locked.
    """

    serving: str
    address: str
    nqn: str
    serial: str
    capacity_bytes: int
    scale: int
    seed: int
    data: str | None
    psid: str
    connect: str


class ServingEnded(Document, frozen=True, kw_only=True, tag="openpts.served/1"):
    """What was served, and how late answers went out, None without an I/O."""

    ios: int
    read_bytes: int
    write_bytes: int
    modelled_ns: int
    late_ns: int
    late_p50_ns: int | None
    late_p99_ns: int | None
    late_p99_9_ns: int | None
    late_max_ns: int | None
    connections: int
    late_share: float


def _tell_begin(drive: ServedDrive, order: ServeOrder) -> None:
    host, port = host_and_port(drive.address)
    connect = f"nvme connect -t tcp -a {host} -s {port} -n {drive.names.nqn}"
    if order.auth_secrets is not None:
        connect += " --dhchap-secret=SECRET"
    begun = ServingBegun.of(
        drive,
        serving=drive.preset.label,
        nqn=drive.names.nqn,
        serial=drive.names.serial,
        psid=drive.names.psid,
        data=None if order.data is None else str(order.data),
        connect=connect,
    )
    print_document(begun, indent=None)


if __name__ == "__main__":
    try:
        serve()
    except OpenptsError as error:
        sys.exit(str(error))
