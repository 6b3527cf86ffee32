"""What `openpts run benchmarks --list` prints: the benchmarks that ship, or the file of one."""

import sys
from pathlib import Path

import click
from msgspec import Struct

from openpts.cli.console import table_console, table_of
from openpts.cli.standard_streams import print_document
from openpts.vocabulary.document import Document
from openpts_practice.rows import CATALOGUE, ProfileRow, is_path
from openpts_practice.rows.profiles import BENCHMARKS, benchmark_of


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


def print_benchmarks(name: str, *, as_json: bool) -> None:
    """Print the benchmarks that ship; with a name or a path, that file, which can be copied and edited.

    Raises UsageError and WrittenFileError for a benchmark that makes no sense.
    """
    found = (benchmark_of(name),) if name else tuple(BENCHMARKS.values())
    if as_json:
        print_document(BenchmarkList.of(benchmarks=found))
    elif name:
        path = Path(name) if is_path(name) else CATALOGUE / f"{name}.toml"
        click.echo(path.read_text(encoding="utf-8"), nl=False)
    else:
        table = table_of("=Name", "Title", ">Rows", "Definition")
        for one in found:
            confirmed = "confirmed" if one.confirmed else "not confirmed"
            table.add_row(one.name, one.title, str(len(one.rows)), confirmed)
        table_console(sys.stdout).print(table)
