"""Runs of `openpts run app` in tests, and the processes of their commands."""

from pathlib import Path

from openpts.record.reader import read_run
from openpts.vocabulary.command_run import CommandRun, RunKind
from tests.support.openpts_process import Ended, openpts


def run_app(place: Path | str, folder: Path, *words: str, options: tuple[str, ...] = ()) -> Ended:
    """A run without report, with so many warm runs and no cold one, which would cost all tests their
    page cache.
    """
    options = ("--no-report", "--until-rse", "0", "--cold-runs", "0", *options)
    return openpts("run", "app", str(place), "--out", str(folder / "run"), *options, "--", *words, cwd=folder)


def runs_of(folder: Path, kind: RunKind) -> list[CommandRun]:
    """The command's runs of this kind in the record."""
    return [one for one in read_run(folder / "run").manifest.command_runs if one.kind is kind]


def living(mark: str) -> list[int]:
    """Processes with this word in their command lines."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found
