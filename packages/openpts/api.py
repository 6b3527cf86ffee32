"""What notebooks and programs of others use; ``openpts`` itself exports it."""

import subprocess
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec.structs import astuple

from openpts.errors import InterruptedRunError, RunFailedError
from openpts.procedures.registry import procedure_of
from openpts.programs import OPENPTS
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.sources import read_for_report, run_folders_of
from openpts.runner.driver import what_is_kept
from openpts_pages.measure import Measured
from openpts_pages.plots.vega_lite import standalone, vega_lite_spec

__all__ = ["build_report", "measure", "measures", "read_run", "read_runs", "run_test", "vega_lite"]

_STDERR: Final = 2  # a notebook puts something without a descriptor in the place of sys.stderr
_STOPPED: Final = 130


class OpenRun(Run, frozen=True, dict=True):
    """A run with its results, as notebooks show it."""

    @classmethod
    def of(cls, run: Run) -> Self:
        """The run, with nothing changed."""
        return cls(*astuple(run))

    def key_values(self) -> dict[str, list[Any]]:
        """Key values as a table, as ``frame`` has tables: a list for each column, all of one length."""
        found = [one for one in measures(self) if one.is_key]
        names = ("key", "label", "value", "unit", "better", "expanded_uncertainty", "note", "state")
        return {name: [getattr(one, name) for one in found] for name in names}

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><td>{escape(one.cover_label or one.label)}</td><td>{escape(one.text)}</td>"
            f"<td>{escape(one.unit)}</td></tr>"
            for one in measures(self)
            if one.is_key and one.on_cover
        )
        return f"<table><caption>{escape(repr(self))}</caption>{''.join(rows)}</table>"


def read_run(folder: str | PathLike[str]) -> OpenRun:
    """Load a run folder, with all that its report needs.

    Raises RecordError if the folder has no record, or one that is damaged, contradicts itself, or has a
    version that this openpts cannot read.
    """
    return OpenRun.of(read_for_report(Path(folder)))


def read_runs(*folders: str | PathLike[str]) -> tuple[OpenRun, ...]:
    """Load run folders, and all runs of suites and batches that have a record.

    Raises RecordError as ``read_run`` does, UsageError where a run is named twice.
    """
    return tuple(map(read_run, run_folders_of([Path(folder) for folder in folders])))


def run_test(test: str, target: str, *options: str, out: str | PathLike[str]) -> OpenRun:
    """Carry out a test on a target by ``openpts run``, in a process of its own, and load what it recorded.

    ``options`` are those of the command line: ``"--quick"``, and on a drive ``"--confirm-serial"`` and its
    serial number, without which nothing is written. The run folder is ``out``. Progress goes to stderr.

        run = openpts.run_test("iops", "sim:enterprise-tlc", "--quick", out="first")

    Raises RunFailedError if the command ends with an error, which it has said, InterruptedRunError if it was
    stopped, RecordError as ``read_run`` does.
    """
    arguments = ["run", test, target, "--out", str(out), "--no-report", *options]
    ended = subprocess.run([*OPENPTS, *arguments], stdout=_STDERR, check=False).returncode
    if ended == _STOPPED:
        raise InterruptedRunError(f"the run was stopped; {what_is_kept(Path(out))}")
    if ended:
        raise RunFailedError(f"`openpts run {test} {target}` ended with exit code {ended}")
    return read_run(out)


def measure(target: str, *options: str) -> dict[str, Any]:
    """What ``openpts io --json`` prints of one stimulus on a target, with every I/O timed.

    ``options`` are those of the command line; writing to a drive needs its ``"--confirm-serial"`` here, too.

        openpts.measure("sim:client-qlc", "--bs", "4k", "--qd", "32", "--seconds", "1")

    Raises RunFailedError if the command ends with an error, which it has said.
    """
    ended = subprocess.run([*OPENPTS, "io", target, "--json", *options], stdout=subprocess.PIPE, check=False)
    if ended.returncode:
        raise RunFailedError(f"`openpts io {target}` ended with exit code {ended.returncode}")
    found: dict[str, Any] = msgspec.json.decode(ended.stdout)
    return found


def vega_lite(run: Run) -> dict[str, dict[str, Any]]:
    """The plots of a run's report as specifications of Vega-Lite 6 with their values, by the plot's id.

    ``altair.Chart.from_dict(plot)`` makes an object of Altair of each; a notebook shows it. Columns in three
    dimensions are left out, whose values the plots over two have.

    Raises RecordError for a run of a test that this openpts does not know.
    """
    report = build_report(run)
    tables = report.tables()
    drawn = (figure for figure in report.figures() if figure.kind != "columns3d")
    return {figure.id: standalone(vega_lite_spec(figure, tables)) for figure in drawn}


def measures(run: Run) -> tuple[Measured, ...]:
    """The results of a run that people compare, each with key, unit, value, note and state.

    Raises RecordError for a run of a test that this openpts does not know.
    """
    return tuple(procedure_of(run.manifest.conditions.test).report(run).measures)
