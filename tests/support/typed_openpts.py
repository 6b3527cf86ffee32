"""openpts as a page of the manual types it, in a folder of its own: parsed, and run where it can be.

`python -m tests.support.typed_openpts WORDS...` runs what needs no drive, host or program of the
reader's: on simulated drives, shortened by ``--quick``. Runs and traces that a page takes for granted are
there while a command runs that names them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from openpts.cli.main import cli, main
from tests.support.openpts_command import COMMAND

ENDED: Final = "OPENPTS_TESTS_ENDED"
"""The file to which each command adds a line: its exit code, or null if it was parsed only, and its words."""
WORLD: Final = "OPENPTS_TESTS_WORLD"
"""The folder with what pages take for granted, made for the first that needs it."""

# Each needs more than this process and its folder, or does not end; tests of their own run them.
_OUT_OF_REACH: Final = (
    ("capture",),  # the kernel's tracing
    ("attach",),  # whatever is in progress on this machine
    ("doctor",),  # the settings of this machine
    ("fleet",),  # other hosts
    ("import",),  # what other programs have written
    ("serve",),  # serves until it is stopped
    ("tour",),  # types what the tutorial does
    ("purge", "--unlock"),  # the password of a drive
)
_ELSEWHERE: Final = re.compile(r"(^|[:=,])(/|~)|/dev/|://")
_OF_THE_READER: Final = ("confirm_serial", "confirm_serials", "drives", "serials")
"""Parameters that name drives and hosts."""
_RUNS: Final = ("baseline", "folder", "like_run", "report_json", "runs")
_SETTINGS: Final = re.compile(r"(?:^|,|sim:)([\w./-]+\.toml)(?=$|[,?])")
_TRACES: Final = ("paths", "trace", "traces")
_SHORTENED_BY: Final = (
    "like_run", "longest_step_seconds", "max_rounds", "quick", "step_seconds", "time_scale",
)  # fmt: skip
_IN_PLACE_OF_A_FILE: Final = "sim:enterprise-tlc?capacity=16GB"
_RUN: Final = ("--quick", "--read-pcts", "0,65,100", "--block-sizes", "4KiB,64KiB,1MiB")
_RUNS_OF_A_PATTERN: Final = 3


def parsed(words: Sequence[str]) -> click.Context:
    """The command that the words start, with its parameters. Raises ClickException, as openpts does."""
    context = cli.make_context("openpts", list(words))
    while isinstance(context.command, click.Group) and (rest := _rest(context)):
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    return context


def _rest(context: click.Context) -> list[str]:
    return [*context._protected_args, *context.args]  # a group goes on with both


def within_reach(words: Sequence[str], parameters: dict[str, Any]) -> bool:
    """Whether all that it needs is here: no path but below its folder, no drive, no host."""
    if any(tuple(words[: len(head)]) == head for head in _OUT_OF_REACH):
        return False
    if parameters.get("detach"):  # it would go on behind the test
        return False
    if any(map(_ELSEWHERE.search, words)) or any(map(parameters.get, _OF_THE_READER)):
        return False
    return all(Path(name).exists() for word in words for name in _SETTINGS.findall(word))


def within_seconds(words: Sequence[str], context: click.Context) -> list[str]:
    """The words on a simulated drive instead of a file, tests with ``--quick``."""
    found = [_IN_PLACE_OF_A_FILE if word.startswith("file:") else word for word in words]
    if words[0] != "run":
        return found
    return found if any(map(context.params.get, _SHORTENED_BY)) else [*found[:2], "--quick", *found[2:]]


@contextmanager
def with_what_they_name(words: Sequence[str], parameters: dict[str, Any], world: Path) -> Iterator[list[str]]:
    """The words, patterns replaced by what they match, while the runs and traces are there that they name."""
    runs, traces = set(_texts(parameters, _RUNS)), set(_texts(parameters, _TRACES))
    found: list[str] = []
    put: list[Path] = []
    for word in words:
        path = Path(word.partition("?")[0] if word in traces else word)
        if word in traces and ":" not in word and not path.exists():
            put.append(Path(shutil.copy(_trace_of(world), path)))
        if word not in runs or path.exists():
            found.append(word)
            continue
        numbers = range(1, _RUNS_OF_A_PATTERN + 1)
        names = [re.sub(r"[*?]", str(number), word) for number in numbers]
        for number, place in zip(numbers, map(Path, names), strict=True):
            if not place.exists():
                shutil.copytree(_run_of(world, number), place)
                put.append(place)
        found += dict.fromkeys(names)
    try:
        yield found
    finally:
        for path in put:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            if path.parent != Path() and not any(path.parent.iterdir()):
                path.parent.rmdir()


def _texts(parameters: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
    for value in map(parameters.get, names):
        yield from map(str, value if isinstance(value, (list, tuple)) else [value] if value else [])


def _run_of(world: Path, number: int) -> Path:
    drive = f"{_IN_PLACE_OF_A_FILE}&seed={number}"
    return _made(world / f"run-{number}", "run", "iops", drive, *_RUN, "--out", str(world / f"run-{number}"))


def _trace_of(world: Path) -> Path:
    place = world / "trace.parquet"
    return _made(place, "trace", "convert", "recipe:boot", "-o", str(place))


def _made(place: Path, *words: str) -> Path:
    if not place.exists():
        subprocess.run([*COMMAND, *words], check=True, capture_output=True)
    return place


def _type(words: Sequence[str]) -> int | None:
    context = parsed(words)
    if not within_reach(words, context.params):
        return None
    with with_what_they_name(words, context.params, Path(os.environ[WORLD])) as found:
        sys.argv = ["openpts", *within_seconds(found, context)]
        try:
            main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
    return 0


if __name__ == "__main__":
    typed = sys.argv[1:]
    code = _type(typed)
    with Path(os.environ[ENDED]).open("a", encoding="utf-8") as ended:
        ended.write(f"{json.dumps([code, *typed])}\n")
    sys.exit(code or 0)
