"""`openpts power`: watts of a meter as lines, for people and for --power-command."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from openpts.cli.options import FiniteRange, argument, option, with_options
from openpts.errors import UsageError
from openpts.runner.stop_signals import terminate_as_interrupt

if TYPE_CHECKING:
    from openpts_nvme.power.source import PowerSource, PowerWindows

_LINE_NS: Final = 100_000_000
_HOW: Final = """\b
In a run, whose report then has the page "Energy":
  openpts run iops /dev/nvme0n1 --power-command 'openpts power qis:192.0.2.7'
"""


@click.command(short_help="Print the watts of a meter, a line each 0.1 s.", epilog=_HOW)
@with_options
def power(
    *,
    source: str = argument("SOURCE"),
    seconds: float | None = option(
        "--for SECONDS", "End after this time; without it, at Ctrl-C.", FiniteRange(0.1, 31_536_000)
    ),
    averaging: str = option(
        "",
        "Samples that a Quarch meter averages (16), or the period that QIS resamples to (1mS).",
        default="",
        show_default=False,
    ),
) -> None:
    """Print the power that a meter measures: the mean of each 0.1 s, and the peak of 100 us in it.

    SOURCE is drive:/dev/nvme0n1 (the drive's own report: logs 02h and 25h), or hwmon:FOLDER (such as
    hwmon:/sys/class/hwmon/hwmon3). Or it is qis:HOST[:PORT][/MODULE] (Quarch's instrument server), or
    quarch:HOST[:PORT] (a Quarch HD module without it). Lines with # say what is metered, and at the end the
    mean, the largest mean of any second, and the energy.
    """
    from openpts_nvme.power.source import PowerWindows  # noqa: PLC0415 help needs nothing that runs

    with terminate_as_interrupt(), _opened(source, averaging) as meter:
        until = None if seconds is None else time.monotonic() + seconds
        whole: PowerWindows | None = None
        try:
            waiting: list[float] = []
            for watts in meter.pieces():
                if whole is None:
                    whole = PowerWindows(meter.period_ns)
                    _say(f"# {meter.what}; a sample each {meter.period_ns / 1000:g} us, means of 0.1 s")
                whole.add(watts)
                waiting += watts
                if len(waiting) * meter.period_ns >= _LINE_NS or meter.period_ns >= _LINE_NS:
                    line = PowerWindows(meter.period_ns)
                    line.add(waiting)
                    waiting = []
                    peak = "" if line.peak_w is None else f" peak {line.peak_w:.4f} W"
                    _say(f"{line.mean_w:.4f} W{peak}")
                if until is not None and time.monotonic() >= until:
                    break
        except KeyboardInterrupt:
            pass
    if whole is not None:
        _end(whole)


def _end(whole: "PowerWindows") -> None:
    second = "" if whole.largest_mean_w is None else f", {whole.largest_mean_w:.4f} W in any second at most"
    peak = "" if whole.peak_w is None else f", {whole.peak_w:.4f} W in any 100 us"
    _say(f"# {whole.mean_w:.4f} W on average{second}{peak}; {whole.joules:.3f} J in {whole.elapsed_s:.1f} s")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def _opened(text: str, averaging: str) -> Iterator["PowerSource"]:
    from openpts.device.block_device import BlockDevice  # noqa: PLC0415 as above
    from openpts.device.kernel_calls import open_to_ask  # noqa: PLC0415 as above
    from openpts.system_files import SystemRoots  # noqa: PLC0415 as above
    from openpts_nvme.power import polled, qis, quarch  # noqa: PLC0415 as above
    from openpts_nvme.power.drive_report import drive_source  # noqa: PLC0415 as above

    kind, _, rest = text.partition(":")
    if not rest or kind not in {"drive", "hwmon", "qis", "quarch"}:
        raise UsageError(
            f"invalid SOURCE {text!r}: use drive:/dev/nvme0n1, hwmon:FOLDER, qis:HOST or quarch:HOST"
        )
    if kind == "drive":
        with open_to_ask(BlockDevice.of_node(Path(rest), SystemRoots())) as fd:
            yield drive_source(fd)
        return
    if kind == "hwmon":
        yield polled.sensor(Path(rest))
        return
    address, _, module = rest.partition("/")
    if kind == "qis":
        host, port = _host_and_port(address, qis.PORT)
        yield qis.QisSource(host, port, module, averaging)
    else:
        host, port = _host_and_port(address, quarch.PORT)
        yield quarch.QuarchSource(host, port, averaging)


def _host_and_port(address: str, port: int) -> tuple[str, int]:
    host, _, number = address.rpartition(":")
    if not host:
        return address, port
    if not number.isdecimal():
        raise UsageError(f"invalid port {number!r} in {address!r}: write a number")
    return host.strip("[]"), int(number)
