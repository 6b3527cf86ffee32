"""`openpts benchmarks`: the rows that users of benchmarks know, as openpts measures them."""

import sys
from pathlib import Path

import click
from msgspec import Struct

from openpts.cli.console import table_console, table_of
from openpts.cli.help_order import together
from openpts.cli.options import argument, flag, with_options
from openpts.cli.printed_document import print_document
from openpts.errors import UsageError
from openpts.fields.readers import data_word, size_text
from openpts.units import NS_PER_S
from openpts.vocabulary.document import Document
from openpts_practice.benchmark_rows import CATALOGUE, is_path
from openpts_practice.benchmark_rows.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts_practice.benchmark_rows.profiles import BENCHMARKS, benchmark_of

_HOW_TO_OWN = """\b
Your own benchmark
  openpts benchmarks show short --toml > mine.toml
    Copy one that ships, and edit it; give it a title of its own.
  openpts benchmarks show ./mine.toml
    Check it.
  openpts run benchmarks sim:enterprise-tlc --benchmarks ./mine.toml
    Measure it.
"""


@click.group(epilog=_HOW_TO_OWN)
def benchmarks() -> None:
    """List and show benchmarks: what `openpts run benchmarks` and `openpts run precon` can measure."""


class ShownBenchmark(Struct, frozen=True, kw_only=True):
    """A benchmark row by row; ``confirmed``: all of its definition was read at ``source``."""

    name: str
    title: str
    source: str
    doubt: str
    differences: str
    score: str
    rows: tuple[ProfileRow, ...]
    confirmed: bool


class BenchmarkList(Document, frozen=True, kw_only=True, tag="openpts.benchmarks/1"):
    """The benchmarks that ship, or the one that is asked for."""

    benchmarks: tuple[ShownBenchmark, ...]


@benchmarks.command("list", short_help="List the benchmarks that ship.")
@together(flag("Print one JSON object.", name="--json as_json"))
def list_(as_json: bool) -> None:
    """List the benchmarks that ship: name, title, number of rows, and whether the definition is confirmed."""
    if as_json:
        print_document(BenchmarkList.of(benchmarks=tuple(BENCHMARKS.values())))
        return
    table = table_of("=Name", "Title", ">Rows", "Definition")
    for one in BENCHMARKS.values():
        confirmed = "confirmed" if one.confirmed else "not confirmed"
        table.add_row(one.name, one.title, str(len(one.rows)), confirmed)
    table_console(sys.stdout).print(table)


@benchmarks.command(short_help="Show the rows of a benchmark.")
@with_options
def show(
    *,
    benchmark: str = argument(),
    toml: bool = flag("Print the file itself, to copy and edit."),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Show the rows of BENCHMARK, the name of one that ships or the path of a TOML file.

    What --toml prints can be edited, and given to --benchmarks by its path.
    """
    if toml and as_json:
        raise UsageError("--toml and --json are two forms of the same thing: give one of them")
    found = benchmark_of(benchmark)
    if toml:
        path = Path(benchmark) if is_path(benchmark) else CATALOGUE / f"{benchmark}.toml"
        click.echo(path.read_text(encoding="utf-8"), nl=False)
    elif as_json:
        print_document(BenchmarkList.of(benchmarks=(found,)))
    else:
        _print_rows(found)


def _print_rows(benchmark: BenchmarkProfile) -> None:
    """What each row does, then where that is from."""
    table = table_of("=Row", "Access", ">Read", ">QD x T", ">Span", ">Warm-up", ">Passes", "Shows", "Data")
    for row in benchmark.rows:
        table.add_row(
            row.name,
            _access_text(row),
            f"{row.read_pct} %",
            f"{row.qd} x {row.tc}",
            "all" if row.span_bytes is None else size_text(row.span_bytes),
            f"{row.warm_up_ns / NS_PER_S:g} s",
            _passes_text(row),
            f"{row.statistic}, {', '.join(row.units)}",
            "that of the test" if row.data is None else data_word(row.data),
        )
    console = table_console(sys.stdout)
    for part in (f"{benchmark.title}", "", table, "", f"source: {benchmark.source}"):
        console.print(part)
    for label, text in (("not confirmed", benchmark.doubt), ("unlike the tool", benchmark.differences)):
        if text:
            console.print(f"{label}: {text}")


def _access_text(row: ProfileRow) -> str:
    if len(row.block_sizes) == 1:
        return f"{row.access}, {row.random_pct} % random" if row.random_pct not in {0, 100} else row.access
    sizes = ", ".join(f"{size_text(size.block_size_bytes)}:{size.weight}" for size in row.block_sizes)
    return f"RND, sizes by weight {sizes}"


def _passes_text(row: ProfileRow) -> str:
    amount = "" if row.pass_bytes is None else f" or {size_text(row.pass_bytes)}"
    return f"{row.passes} x {row.pass_ns / NS_PER_S:g} s{amount}"
