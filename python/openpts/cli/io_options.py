"""The options of `openpts io` in the order of its help, and the stop rule that they make."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from openpts.cli.help_order import together
from openpts.cli.io_engine import NUMA
from openpts.cli.number_types import FiniteRange
from openpts.engine.options import CompletionWait, IoPath
from openpts.errors import UsageError
from openpts.fields.fio_values import ORDERS
from openpts.fields.parsing import amount_bytes, named_values, number, refuse, whole_number
from openpts.plugins import Kind, offers
from openpts.units import NS_PER_S
from openpts.vocabulary.stop import (
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    SteadyFigure,
    StopRule,
)

_DEFAULT_SECONDS: Final = 10.0
_STEADY: Final = "--until-steady"
_FIGURES: Final = {
    "iops": SteadyFigure.IOPS,
    "throughput": SteadyFigure.THROUGHPUT,
    "latency": SteadyFigure.MEAN_LATENCY,
}


@dataclass(frozen=True, slots=True)
class StopArgs:
    """The options as given; None for one that was not."""

    seconds: float | None = None
    amount: str | None = None
    fills: float | None = None
    ios: int | None = None
    until_steady: str | None = None

    def rule(self, interval_ns: int) -> StopRule:
        """Whichever comes first of all that was given; ten seconds if nothing was. Raises UsageError."""
        if self.amount is not None and self.fills is not None:
            raise UsageError("--bytes and --fills exclude each other: give one of them")
        rules: list[Duration | ByteAmount | DriveFills | IoCount | Steady] = []
        if self.seconds is not None:
            rules.append(Duration.seconds(self.seconds))
        if self.amount is not None:
            rules.append(ByteAmount(amount_bytes("--bytes", self.amount)))
        if self.fills is not None:
            rules.append(DriveFills(self.fills))
        if self.ios is not None:
            rules.append(IoCount(self.ios))
        if self.until_steady is not None:
            rules.append(_steady_rule(self.until_steady, interval_ns))
        if not rules:
            return Duration.seconds(_DEFAULT_SECONDS)
        return rules[0] if len(rules) == 1 else FirstOf(tuple(rules))


def _steady_rule(text: str, interval_ns: int) -> Steady:
    """The rule of ``FIGURE[,window=S][,windows=N][,excursion=PCT][,slope=PCT]``. Raises UsageError."""
    figure, comma, rest = text.partition(",")
    if figure not in _FIGURES:
        refuse(_STEADY, text, f"the figure must be one of {', '.join(_FIGURES)}")
    known = {"window": number, "windows": whole_number, "excursion": number, "slope": number}
    values = named_values(_STEADY, rest, known) if comma else {}
    usual = Steady(_FIGURES[figure], NS_PER_S)
    rule = Steady(
        usual.figure,
        round(values.get("window", 1) * NS_PER_S),
        int(values.get("windows", usual.windows)),
        values.get("excursion", usual.excursion_pct),
        values.get("slope", usual.slope_pct),
    )
    if rule.windows < 2:
        refuse(_STEADY, text, "at least two windows are needed to see a change")
    if rule.window_ns <= 0 or rule.window_ns % interval_ns:
        refuse(_STEADY, text, f"a window must be a multiple of --interval, {interval_ns / NS_PER_S:g} s")
    return rule


_WEIGHT: Final = click.IntRange(0, 2**32 - 1)


_what = together(
    click.option(
        "--bs",
        default="4k",
        show_default=True,
        metavar="SIZES",
        help="Transfer size (4k is 4 KiB), or up to 64 with weights: 4k:67,8k:33.",
    ),
    click.option("--mix", metavar="R/W", help="Per cent of reads and writes. [default: 100/0]"),
    click.option(
        "--trim", type=_WEIGHT, metavar="N", help="Weight of trims beside that of --mix, which is 100."
    ),
    click.option("--flush", type=_WEIGHT, metavar="N", help="Weight of cache flushes beside --mix."),
    click.option("--fsync", type=_WEIGHT, metavar="N", help="Weight of fsyncs beside --mix."),
    click.option(
        "--ops",
        metavar="WEIGHTS",
        help="All operations at once: read=70,write=20,trim=5,flush=5.",
    ),
    click.option(
        "--tc",
        "--numjobs",
        "tc",
        type=click.IntRange(1, 1024),
        metavar="N",
        default=1,
        show_default=True,
        help="Thread count.",
    ),
    click.option(
        "--qd",
        "--iodepth",
        "qd",
        type=click.IntRange(1, 4096),
        metavar="N",
        default=32,
        show_default=True,
        help="Queue depth of each thread.",
    ),
    click.option(
        "--rw", type=click.Choice(list(ORDERS)), help="Operations and order as fio names them, for --mix."
    ),
    click.option(
        "--rwmixread", type=click.IntRange(0, 100), metavar="PCT", help="Per cent of reads of --rw randrw."
    ),
    click.option("--bssplit", metavar="SIZES", help="Transfer sizes as fio writes them: 4k/67:8k/33."),
)

_where = together(
    click.option(
        "--pattern", type=click.Choice(["random", "sequential"]), help="Order of accesses. [default: random]"
    ),
    click.option(
        "--random-pct",
        type=click.IntRange(0, 100),
        metavar="PCT",
        help="Per cent of random accesses; the others continue sequentially.",
    ),
    click.option(
        "--range",
        "active_range",
        default="0:100",
        show_default=True,
        metavar="START:END",
        help="Part of the LBAs, in per cent.",
    ),
    click.option(
        "--zones", metavar="A/R,...", help="Access ranges: 50/5,30/15,20/80 (accesses/range, in %)."
    ),
    click.option("--zipf", metavar="THETA", help="Zipf distribution with this exponent."),
    click.option("--pareto", metavar="H", help="A share H of the blocks gets 1-H of the accesses."),
    click.option(
        "--normal", metavar="M,D", help="Hot spot: mean and standard deviation in per cent of the range."
    ),
    click.option("--segments", metavar="N:SIZE", help="N segments of this size, spread over the range."),
    click.option("--unique", metavar="SIZE", help="A random choice of blocks of this total size."),
    click.option("--align", metavar="SIZE", help="Alignment of random accesses. [default: 4k]"),
    click.option("--stride", metavar="SIZE", help="Distance from one sequential access to the next."),
)

_when = together(
    click.option("--rate", metavar="IOPS", help="Fixed rate, all threads together (open loop)."),
    click.option("--poisson", metavar="IOPS", help="Poisson arrivals with this mean rate (open loop)."),
    click.option("--burst", metavar="N@MS", help="N I/Os at once, every MS milliseconds (open loop)."),
    click.option("--duty", metavar="ON/OFF", help="Milliseconds with and without I/O, alternating."),
    click.option(
        "--think", metavar="US", help="Microseconds that each outstanding I/O waits after its completion."
    ),
    click.option(
        "--data",
        metavar="WHAT",
        help="random, random-once, zero, pattern:HEX, entropy:PCT[,dup:PCT][,granule:SIZE], "
        "or verified:GENERATION (checked on read). [default: random]",
    ),
)

_how_long = together(
    click.option(
        "--seconds",
        type=FiniteRange(0, 10**9, min_open=True),
        metavar="SECONDS",
        help=f"Stop after this time. [default: {_DEFAULT_SECONDS:g}, if nothing else stops]",
    ),
    click.option("--runtime", metavar="TIME", help="The same as fio writes it: 90, 10m, 2h."),
    click.option("--bytes", "amount", metavar="SIZE", help="Stop after this amount of data, such as 16GiB."),
    click.option(
        "--fills",
        type=FiniteRange(0, 10**6, min_open=True),
        metavar="N",
        help="Stop after this many times the capacity.",
    ),
    click.option("--ios", type=click.IntRange(1, 2**63 - 1), metavar="N", help="Stop after this many I/Os."),
    click.option(
        "--until-steady",
        metavar="FIGURE",
        help="Stop when iops, throughput or latency is steady; "
        "with [,window=S][,windows=N][,excursion=PCT][,slope=PCT] after it.",
    ),
    click.option(
        "--ramp",
        type=FiniteRange(0, 10**6),
        metavar="SECONDS",
        default=0,
        help="Seconds at the beginning that are not counted.",
    ),
)

_fio_jobs = together(
    click.option(
        "--fio",
        "fio_job",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="JOB",
        help="Run the jobs of this fio job file, each as a stream, instead of one stimulus.",
    ),
    click.option(
        "--fio-value",
        "fio_values",
        multiple=True,
        metavar="NAME=VALUE",
        help="Put VALUE for ${NAME} in the job file, or else the environment's; repeatable.",
    ),
    click.option(
        "--print-fio", is_flag=True, help="Print the load as a fio job file instead of measuring it."
    ),
)

_engine = together(
    click.option(
        "--io-path",
        type=click.Choice([path.value for path in IoPath]),
        help="I/O path. [default: what a probe of the target finds best]",
    ),
    click.option(
        "--wait",
        type=click.Choice([wait.value for wait in CompletionWait]),
        default=CompletionWait.EACH.value,
        show_default=True,
        help="Wait for each completion (latency), or for several at once (throughput).",
    ),
    click.option(
        "--cpus",
        default=NUMA,
        show_default=True,
        metavar="LIST|numa|none",
        help="Pin the threads: 0-3,8; or to the target's NUMA node where it is known; or not at all.",
    ),
    click.option(
        "--max-errors",
        type=click.IntRange(0, 2**63 - 1),
        metavar="N",
        default=0,
        show_default=True,
        help="Tolerate up to N failed I/Os.",
    ),
    click.option(
        "--interval",
        "interval_seconds",
        type=FiniteRange(0.01, 3600),
        metavar="SECONDS",
        default=1.0,
        show_default=True,
        help="Seconds from one line of figures to the next.",
    ),
    click.option(
        "--alone",
        is_flag=True,
        help="Measure each of several streams alone first, and print what the others cost it.",
    ),
    click.option(
        "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Seed of offsets and data; random."
    ),
    click.option(
        "--capture",
        type=click.Path(path_type=Path, file_okay=False),
        help="Record every I/O in Parquet files in this folder, which is created if missing.",
    ),
)

_consent = together(
    click.option(
        "--confirm-serial",
        "serials",
        multiple=True,
        metavar="SERIAL",
        help="To write: confirm a drive by its serial number; once for each drive.",
    ),
    click.option(
        "--confirm-device-path",
        "device_paths",
        multiple=True,
        metavar="PATH",
        help="To write: confirm a device without a serial number by its path.",
    ),
    click.option(
        "--erase-signatures",
        is_flag=True,
        help="To write: overwrite partition tables and file systems found.",
    ),
    click.option(
        "--overwrite-file", is_flag=True, help="To write: overwrite a file that openpts did not create."
    ),
)

io_options: Final = together(
    _what,
    _where,
    _when,
    _how_long,
    *([_fio_jobs] if "fio-jobs" in offers(Kind.SERVICE) else []),
    _engine,
    _consent,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the log goes to stderr."),
)
"""All of them, as one decorator."""
