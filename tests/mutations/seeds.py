"""Run folders from which mutations begin: small ones, since every one of a million inputs is read whole."""

import sqlite3
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from shutil import copyfile, copytree

from openpts.cli.main import cli
from openpts.record.writer import CAPTURE_FOLDER, DATABASE_NAME
from openpts.report.sources import ReportSource
from openpts.report.write import ReportOptions, write_report
from openpts_pages.measure import Style
from tests.support.shortened_runs import shortened_run
from tests.support.stream_runs import measured, stored

_STEPS_OF_A_CUT_RUN = 4
_PAGE_BYTES = (
    1024  # a record of so few rows is a fifth as large as in pages of ours, and damage hits more of it
)
_WITH_STEPS = ("step", "operation", "interval", "interval_operation", "io_error", "standstill")


@dataclass(frozen=True)
class Seeds:
    """A whole run with a full and a short report, one that was cut off after some steps, without any,
    that one with a capture and a short report, and one whose steps have several streams.
    """

    run: Path
    cut: Path
    captured: Path
    streams: Path

    @property
    def capture(self) -> Path:
        """The only file of the capture."""
        (capture,) = (self.captured / CAPTURE_FOLDER).iterdir()
        return capture


def make_seeds(folder: Path) -> Seeds:
    """Some seconds of a processor's time."""
    seeds = Seeds(folder / "run", folder / "cut", folder / "captured", folder / "streams")
    shortened_run("tp", seeds.run, target="sim:enterprise-tlc?capacity=4GB", scale=0.05)
    for style in Style:
        _report(seeds.run, style)
    stored(seeds.streams, measured())
    seeds.cut.mkdir()
    copyfile(seeds.run / DATABASE_NAME, seeds.cut / DATABASE_NAME)
    with closing(sqlite3.connect(seeds.cut / DATABASE_NAME, isolation_level=None)) as database:
        for table in _WITH_STEPS:
            database.execute(f"DELETE FROM {table} WHERE step_id > {_STEPS_OF_A_CUT_RUN}")
        database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        database.execute("VACUUM")
    copytree(seeds.cut, seeds.captured)
    order = ["io", "sim:mlc", "--seconds", "0.01", "--seed", "1", "--capture", str(folder / CAPTURE_FOLDER)]
    with redirect_stdout(StringIO()):
        cli.main(order, standalone_mode=False)
    (folder / CAPTURE_FOLDER).rename(seeds.captured / CAPTURE_FOLDER)
    _report(seeds.captured, Style.SHORT)
    return seeds


def _report(run: Path, style: Style) -> None:
    write_report(ReportSource.of([run]), options=ReportOptions(html=False, pdf=False, style=style))
