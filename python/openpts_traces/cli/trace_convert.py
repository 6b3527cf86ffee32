"""`openpts trace convert`, `filter` and `merge`: new traces from old ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from openpts.cli.options import NEW_FILE, argument, flag, group, option, with_options
from openpts.errors import UsageError
from openpts.units import parse_size_bytes
from openpts_traces.cli.trace_options import (
    AS_JSON,
    DEVICES,
    HIGHEST_BYTE,
    PATHS,
    TIME,
    ReadArgs,
    checked_span,
    ends,
    exact_number,
    known_names,
    named,
    time_span,
)
from openpts_traces.cli.trace_text import ProgressLine, show
from openpts_traces.treatment import (
    MOST_LOOPS,
    OPERATIONS,
    Filter,
    Input,
    MergePlace,
    OpenOptions,
    Span,
    outputs,
    write,
)

_OUT: Final = option(
    "-o --out FILE", "Write this file, which must not be there yet.", NEW_FILE, required=True
)
_TO: Final = option(
    "--to", "Write this format; openpts is the canonical form.", click.Choice(outputs()), default="openpts"
)


def _written(
    traces: Sequence[Input], name: str, to: str, out: Path, filtered: Filter | None, *, as_json: bool
) -> int:
    with ProgressLine() as progress:
        treated = write(traces, to, out, progress, filtered=filtered)
    return show(treated, name, str(out), as_json=as_json)


@click.command()
@with_options
def convert(
    *,
    paths: tuple[str, ...] = PATHS,
    out: Path = _OUT,
    to: str = _TO,
    devices: tuple[str, ...] = DEVICES,
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Write the files of a trace, in this order, as one file in another format.

    What that format has no place for is listed. A trace that is refused leaves no file.
    """
    trace = Input(paths, read.options(devices))
    return _written((trace,), named(paths), to, out, None, as_json=as_json)


@click.command("filter")
@with_options
def filter_(
    *,
    paths: tuple[str, ...] = PATHS,
    out: Path = _OUT,
    to: str = _TO,
    times: str | None = TIME,
    operations: tuple[str, ...] = option(
        "--op OPERATION",
        f"Keep this operation; may be repeated: {', '.join(OPERATIONS)}.",
        click.Choice(OPERATIONS),
        multiple=True,
    ),
    devices: tuple[str, ...] = DEVICES,
    pids: tuple[int, ...] = option("--pid", "Keep this process; may be repeated.", click.INT, multiple=True),
    places: str | None = option("--bytes FROM:TO", "Keep I/Os that touch this part of a device."),
    inverted: bool = flag("Keep what would go, and the other way round.", name="--not"),
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Write a part of a trace: the I/Os that are all of what is asked for.

    They keep their times, so that pauses stay. Sizes have units, such as 512MiB; either end of a range may be
    left out. The new trace has the hash of the old one and the filter in its header.
    """
    wanted = Filter(
        time_ns=time_span(times),
        operations=operations,
        devices=devices,
        pids=pids,
        bytes=_bytes(places),
        inverted=inverted,
    )
    if wanted == Filter(inverted=inverted):
        raise UsageError("nothing is asked for: give --time, --op, --device, --pid or --bytes")
    trace = Input(paths, read.options())
    return _written((trace,), named(paths), to, out, wanted, as_json=as_json)


def _bytes(text: str | None) -> Span | None:
    if text is None:
        return None
    begin, end = ends(text, "--bytes")
    span = Span(parse_size_bytes(begin) if begin else 0, parse_size_bytes(end) if end else HIGHEST_BYTE)
    return checked_span(span, "--bytes", text)


@click.command()
@with_options
def merge(
    *,
    traces: tuple[str, ...] = argument("TRACE[?KEY=VALUE]...", nargs=-1, required=True, callback=known_names),
    out: Path = _OUT,
    to: str = _TO,
    same_devices: bool = flag(
        "Take devices of equal names for one. [default: number them by trace, as 1:NAME]"
    ),
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Write several traces as one, in the order of their times; of equal times an earlier trace is first.

    Each is one file and may have keys behind a question mark, joined by &: start=SECONDS after the beginning
    of all, speed=RATIO (2 is twice as fast), loops=N repetitions, as in "mail.parquet?start=2.5&speed=3/2".
    """
    opened = read.options()
    inputs = tuple(_parts(traces, opened, same_devices=same_devices))
    return _written(inputs, named(traces), to, out, None, as_json=as_json)


def _parts(traces: Sequence[str], opened: OpenOptions, *, same_devices: bool) -> Iterator[Input]:
    for number, text in enumerate(traces, start=1):
        path, keys = _path_and_keys(text)
        loops = keys.pop("loops", "1")
        if not loops.isascii() or not loops.isdigit() or not 1 <= int(loops) <= MOST_LOOPS:
            raise UsageError(f"invalid loops={loops}: write a number from 1 to {MOST_LOOPS:,}")
        start_s = exact_number(keys.pop("start", "0"), "start")
        speed = exact_number(keys.pop("speed", "1"), "speed")
        if keys:
            raise UsageError(
                f"{next(iter(keys))!r} behind the ? of a trace is unknown: use start, speed or loops"
            )
        if speed == 0:
            raise UsageError("invalid speed=0: write a ratio above 0")
        prefix = "" if same_devices or len(traces) == 1 else f"{number}:"
        yield Input((path,), opened, MergePlace.of(start_s, speed, int(loops), prefix))


def _path_and_keys(text: str) -> tuple[str, dict[str, str]]:
    path, question_mark, query = text.rpartition("?")
    if not question_mark or Path(text).exists():
        return text, {}
    pairs = [pair.partition("=") for pair in query.split("&")]
    return path, {key: value for key, _, value in pairs}
