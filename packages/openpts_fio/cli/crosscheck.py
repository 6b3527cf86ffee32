"""`openpts crosscheck`: does the native engine measure what fio measures?"""

import math
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Self

import click
from msgspec import Struct

from openpts.cli.consent_options import ConsentOfOne
from openpts.cli.console import table_console, table_of
from openpts.cli.number_types import FiniteRange
from openpts.cli.options import argument, flag, group, option, with_options
from openpts.cli.printed_document import print_document
from openpts.engine.options import IoPath
from openpts.units import NS_PER_S, NS_PER_US, format_capacity
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts_fio.crosscheck import (
    CASES,
    CONFIDENCE,
    READS,
    WRITES,
    Agreement,
    CrosscheckEvent,
    CrosscheckRequest,
    CrosscheckStarted,
    PairedRatio,
    StimulusComparison,
    crosscheck,
)

_PIPE_COLUMNS = 140


def _event_lines(event: CrosscheckEvent) -> Iterator[str]:
    """Log lines while it runs."""
    if isinstance(event, CrosscheckStarted):
        yield f"target    {event.target.path}, {format_capacity(event.target.user_capacity_bytes)}"
        for engine in (event.first, event.second):
            yield f"{engine['engine'].value:<9} by {_path_text(engine)}"
        yield from (f"note      {note}" for note in event.notes)
        return
    first, second = event.first, event.second
    yield (
        f"{event.number:>3}/{event.of} {event.case.name}: {first.iops:,.0f} and {second.iops:,.0f} IOPS, "
        f"{_us(first.mean_latency_ns or 0)} and {_us(second.mean_latency_ns or 0)} us"
    )


def _path_text(engine: Facts) -> str:
    """How an engine issues I/O."""
    return str(engine["io_path"].value)


def _print_table(stream: IO[str], comparisons: Sequence[StimulusComparison], limit_pct: float) -> None:
    """A row for each figure of each stimulus; means over the pairs are geometric."""
    figures = (">native", ">fio", ">difference", ">95 % interval", f">agrees within {limit_pct:g} %")
    table = table_of("=stimulus", "=figure", *figures)
    for comparison in comparisons:
        for stimulus, figure, ratio, text in (
            (comparison.case.name, "IOPS", comparison.iops, "{:,.0f}".format),
            ("", "mean latency (us)", comparison.mean_latency_ns, _us),
        ):
            means = text(ratio.first_mean), text(ratio.second_mean)
            table.add_row(stimulus, figure, *means, *_difference(ratio), ratio.agrees_within(limit_pct))
    console = table_console(stream, pipe_columns=_PIPE_COLUMNS)
    console.print()
    console.print(table)


def _difference_pct(ratio: float) -> float:
    """A ratio as the first figure's difference from the second."""
    return 100 * (ratio - 1)


def _difference(ratio: PairedRatio) -> tuple[str, str]:
    ends = " to ".join(
        "unknown" if math.isinf(end) else f"{_difference_pct(end):+.2f}" for end in (ratio.low, ratio.high)
    )
    return f"{_difference_pct(ratio.ratio):+.2f} %", f"{ends} %"


def _us(latency_ns: float) -> str:
    return f"{latency_ns / NS_PER_US:,.2f}"


class ComparedFigure(Struct, frozen=True):
    """A figure of both engines, and their difference with the ends of its interval."""

    native: float
    fio: float
    pairs: int
    difference_pct: float
    low_pct: float
    high_pct: float
    agrees: Agreement

    @classmethod
    def of(cls, ratio: PairedRatio, limit_pct: float) -> Self:
        """Of the pairs of one stimulus."""
        return cls(
            native=ratio.first_mean,
            fio=ratio.second_mean,
            pairs=ratio.pairs,
            difference_pct=_difference_pct(ratio.ratio),
            low_pct=_difference_pct(ratio.low),
            high_pct=_difference_pct(ratio.high),
            agrees=ratio.agrees_within(limit_pct),
        )


class CheckedStimulus(Struct, frozen=True):
    """A stimulus, and both of its figures."""

    name: str
    iops: ComparedFigure
    mean_latency_ns: ComparedFigure


class CrosscheckDocument(Document, frozen=True, kw_only=True, tag="openpts.crosscheck/1"):
    """Facts of both engines by name, and what they measured."""

    target: str
    seed: int
    limit_pct: float
    confidence: float
    notes: tuple[str, ...]
    engines: dict[str, dict[str, str | None]]
    stimuli: tuple[CheckedStimulus, ...]

    @classmethod
    def by(
        cls,
        started: CrosscheckStarted,
        comparisons: Sequence[StimulusComparison],
        limit_pct: float,
        seed: int,
    ) -> Self:
        """The same as the table."""
        stimuli = (
            (
                one.case.name,
                ComparedFigure.of(one.iops, limit_pct),
                ComparedFigure.of(one.mean_latency_ns, limit_pct),
            )
            for one in comparisons
        )
        return cls(
            target=started.target.path,
            seed=seed,
            limit_pct=limit_pct,
            confidence=CONFIDENCE,
            notes=tuple(started.notes),
            engines={"native": _engine(started.first), "fio": _engine(started.second)},
            stimuli=tuple(CheckedStimulus(*one) for one in stimuli),
        )


def _engine(facts: Facts) -> dict[str, str | None]:
    return {name: fact.value for name, fact in facts.items()}


@click.command("crosscheck")
@with_options
def crosscheck_command(
    *,
    target: str = argument(),
    names: tuple[str, ...] = option(
        "--stimulus NAME",
        f"Compare with this stimulus; may be repeated: {', '.join(CASES)}. [default: all that only read]",
        click.Choice(list(CASES)),
        multiple=True,
    ),
    writes: bool = flag("Include the stimuli that write. DESTROYS DATA."),
    seconds: float = option("SECONDS", "Length of one measurement.", FiniteRange(0.05, 3600), default=2.0),
    ramp: float = option(
        "SECONDS", "Ramp at the start of each measurement, not counted.", FiniteRange(0, 60), default=0.25
    ),
    repeats: int = option(
        "N", "Pairs of measurements for each stimulus.", click.IntRange(2, 1000), default=6
    ),
    limit_pct: float = option(
        "--limit PCT", "Difference that counts as agreement.", FiniteRange(0, 100, min_open=True), default=3.0
    ),
    io_path: str | None = option(
        "",
        "I/O path of the native engine, and of fio where it has it. [default: what suits TARGET]",
        click.Choice([IoPath.IO_URING.value, IoPath.SYNC.value]),
    ),
    seed: int | None = option("N", "Seed of offsets and data; random.", click.IntRange(0, 2**63 - 1)),
    consent: Consent = group(ConsentOfOne),
    as_json: bool = flag("Print one JSON object; the log goes to stderr.", name="--json"),
) -> None:
    """Compare the native engine with fio on TARGET. Only reads, unless --writes is given.

    Each stimulus runs on both engines in turn, in pairs whose order alternates. The table has the difference
    of IOPS and of mean latency with its 95 % confidence interval over the pairs; they agree if the whole
    interval is within the limit. TARGET is a drive or file:PATH; the program fio is needed.
    """
    cases = tuple(CASES[name] for name in dict.fromkeys(names)) or READS
    order = CrosscheckRequest(
        target=target,
        cases=(*cases, *(case for case in WRITES if case not in cases)) if writes else cases,
        step=_step(seconds, ramp),
        repeats=repeats,
        seed=secrets.randbits(63) if seed is None else seed,
        io_path=None if io_path is None else IoPath(io_path),
        consent=consent,
    )
    started: list[CrosscheckStarted] = []

    def on_event(event: CrosscheckEvent) -> None:
        if isinstance(event, CrosscheckStarted):
            started.append(event)
        for line in _event_lines(event):
            click.echo(line, err=as_json)

    comparisons = crosscheck(order, on_event)
    if as_json:
        print_document(CrosscheckDocument.by(started[0], comparisons, limit_pct, order.seed))
    else:
        _print_table(sys.stdout, comparisons, limit_pct)


def _step(seconds: float, ramp_seconds: float) -> Callable[[Stimulus], Step]:
    ramp_ns = round(ramp_seconds * NS_PER_S)
    return lambda stimulus: Step.of(stimulus, Duration.seconds(seconds), ramp_ns)
