"""`openpts ready`: how soon an NVMe drive works again after an interruption."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from openpts.cli.consent_options import ConsentOfOne
from openpts.cli.console import table_console, table_of
from openpts.cli.options import argument, flag, group, option, with_options
from openpts.cli.printed_document import print_document
from openpts.errors import UsageError
from openpts.units import NS_PER_S, format_latency_ms
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.document import Document

if TYPE_CHECKING:
    from openpts_nvme.ready.measure import Interruption

_WAYS: Final = ("reset", "flr", "removal", "power")


class ReadyLimit(Struct, frozen=True):
    """A requirement of OCP's Datacenter NVMe SSD Specification 2.7, with its source."""

    requirement: str
    limit_ns: int
    source: str


_SOURCE: Final = "OCP Datacenter NVMe SSD 2.7, 7.2.1"
_LIMITS: Final = {
    "first_identify": ReadyLimit("TTR-1", NS_PER_S, _SOURCE),
    "first_read": ReadyLimit("TTR-2", 20 * NS_PER_S, _SOURCE),
    "shutdown": ReadyLimit("TTR-5", 10 * NS_PER_S, _SOURCE),
}
_NAMES: Final = {
    "first_identify": "first Identify",
    "first_read": "first read",
    "read_gap": "longest gap of reads",
    "shutdown": "shutdown and removal",
}


class ReadyFigure(Struct, frozen=True, kw_only=True):
    """A time of all interruptions, in their order.

    ``low_ns`` to ``high_ns`` has the median with at least 95 % confidence, whatever the distribution; None
    with too few interruptions for that. ``limit`` counts from a register of the controller, and the time
    from the order to the kernel: a time within it is proof, one beyond it is not.
    """

    name: str
    times_ns: tuple[int, ...]
    median_ns: float
    low_ns: int | None
    high_ns: int | None
    limit: ReadyLimit | None

    @property
    def keeps(self) -> bool | None:
        """Whether all were within the limit; None without one."""
        return None if self.limit is None else max(self.times_ns) <= self.limit.limit_ns


class ReadyDocument(Document, frozen=True, kw_only=True, tag="openpts.ready/1"):
    """A drive's times to ready. ``calm_gap_ns`` is the longest gap of reads before an order: its resolution.

    ``path`` is the drive's node at the end: one that comes back may get another name.
    """

    target: str
    path: str | None
    serial: str
    way: str
    after: str
    figures: tuple[ReadyFigure, ...]
    calm_gap_ns: int


@click.command(short_help="Measure how soon an NVMe drive works again.")
@with_options
def ready(
    *,
    target: str = argument(),
    way: str | None = option(
        "--after WAY",
        "Interrupt it by a reset of its controller, flr (Function Level Reset), removal (and return), or "
        "power (of its slot).",
        click.Choice(_WAYS),
    ),
    command: str | None = option(
        "COMMAND",
        "Interrupt it by this program, such as a power switch, or nvme-cli that activates firmware.",
    ),
    times: int = option("N", "Interrupt it so many times.", click.IntRange(1, 1000), default=6),
    consent: Consent = group(ConsentOfOne),
    as_json: bool = flag("Print one JSON object; the log goes to stderr.", name="--json"),
) -> None:
    """Interrupt TARGET, an NVMe drive, and measure how soon it works again. INTERRUPTS the drive.

    Identify commands, and a 4-KiB read every millisecond, are sent all the time. Printed are the times from
    the interruption to the first of each that succeeds, and the longest gap of the reads, beside the limits
    of OCP. Nothing is written to the drive, but power that is cut may cost what is in its cache. A drive that
    was removed is brought back, also by the next run if this one is killed.
    """
    from openpts_nvme.ready.session import measured  # noqa: PLC0415 help needs nothing that runs
    from openpts_nvme.ready.ways import WAYS, by_command  # noqa: PLC0415 likewise

    if (way is None) == (command is None):
        raise UsageError("name one way to interrupt the drive: --after WAY, or --command COMMAND")
    chosen = by_command(command) if command is not None else WAYS[way or ""]
    log = sys.stderr if as_json else sys.stdout

    def hear(line: str) -> None:
        click.echo(line, file=log)

    found = measured(target, consent, chosen, times, hear)
    document = ReadyDocument(
        target=target,
        path=found.path,
        serial=found.serial,
        way=chosen.name,
        after=chosen.title,
        figures=tuple(_figures_of(found.interruptions)),
        calm_gap_ns=max(one.calm_gap_ns for one in found.interruptions),
    )
    if as_json:
        print_document(document)
    else:
        print_ready(document)


def _figures_of(found: Sequence["Interruption"]) -> list[ReadyFigure]:
    times: dict[str, Callable[[Interruption], int | None]] = {
        "first_identify": lambda one: one.identify_ns,
        "first_read": lambda one: one.read_ns,
        "read_gap": lambda one: one.gap_ns,
        "shutdown": lambda one: one.shutdown_ns,
    }
    of_each = {
        name: tuple(time for one in found if (time := pick(one)) is not None) for name, pick in times.items()
    }
    return [figure_of(name, times_ns) for name, times_ns in of_each.items() if times_ns]


def figure_of(name: str, times_ns: tuple[int, ...]) -> ReadyFigure:
    """The median with its interval, beside the limit of that name."""
    from statistics import median  # noqa: PLC0415 takes a twentieth of the time of a start

    from openpts_nvme.ready.order_statistics import median_interval  # noqa: PLC0415 likewise

    low, high = median_interval(sorted(times_ns)) or (None, None)
    return ReadyFigure(
        name=name,
        times_ns=times_ns,
        median_ns=median(times_ns),
        low_ns=low,
        high_ns=high,
        limit=_LIMITS.get(name),
    )


def print_ready(document: ReadyDocument) -> None:
    """The times as a table, and what they can't tell."""
    table = table_of("Time", ">Median", ">95 % interval", ">Least", ">Most", "Limit (OCP 2.7)", "Kept")
    for one in document.figures:
        interval = (
            "-" if one.low_ns is None or one.high_ns is None else f"{_ms(one.low_ns)} to {_ms(one.high_ns)}"
        )
        limit = "-" if one.limit is None else f"{one.limit.limit_ns // NS_PER_S} s ({one.limit.requirement})"
        kept = {None: "-", True: "yes", False: "not shown"}[one.keeps]
        table.add_row(
            _NAMES[one.name],
            f"{_ms(one.median_ns)} ms",
            interval,
            _ms(min(one.times_ns)),
            _ms(max(one.times_ns)),
            limit,
            kept,
        )
    times = len(document.figures[0].times_ns)
    click.echo(f"after {document.after}, {times} {'time' if times == 1 else 'times'}")
    table_console().print(table)
    click.echo(
        f"Without an interruption the reads had gaps of up to {_ms(document.calm_gap_ns)} ms: shorter ones "
        "can't be told apart from these."
    )
    if document.path is not None and document.path != document.target:
        click.echo(f"The drive is {document.path} now.")


def _ms(time_ns: float) -> str:
    return format_latency_ms(time_ns)
