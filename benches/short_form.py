"""The short form of a test against the test at full length, on simulated drives that are drawn.

Of a preset over-provisioning, collection, flash and buffer are drawn; the short form has to find the first of
these by itself. Shown are each key value's error, the interval that is printed with it and that of the test
at full length, and what was written. A buffer is not scaled down, and is to be as small beside an element of
5 s as beside one of a minute: the short form has a finer time scale.

    .venv/bin/python -m benches.short_form [--drives 20] [--seed N] [--tests iops,lat]
"""

import argparse
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benches.drawn_drives import draw

from openpts.record.reader import read_run
from openpts.report.summary import summarize

SHORT_SCALE, FULL_SCALE = 24, 96


class Pair(NamedTuple):
    """A key value in the short form and at full length, each with its expanded uncertainty."""

    name: str
    short: float
    full: float
    expanded: float
    full_expanded: float

    @property
    def error(self) -> float:
        return self.short / self.full - 1

    @property
    def text(self) -> str:
        mine, its = (100 * self.expanded / self.short, 100 * self.full_expanded / self.full)
        return f"{self.name} {100 * self.error:+.1f} % (± {mine:.1f}, ± {its:.1f})"

    @property
    def is_within(self) -> bool:
        return abs(self.short - self.full) <= self.expanded

    @property
    def is_within_both(self) -> bool:
        """Whether the difference is no larger than both explain: the full test knows its value as badly."""
        return abs(self.short - self.full) <= math.hypot(self.expanded, self.full_expanded)


def run(test: str, target: str, folder: Path, seed: int, *words: str) -> Path:
    """A run of the test, as its user starts it."""
    command = [sys.executable, "-m", "openpts", "run", test, target, "--out", str(folder)]
    subprocess.run([*command, "--seed", str(seed), "--no-report", *words], check=False, capture_output=True)
    return folder


def written(folder: Path) -> float:
    """User capacities written."""
    found = read_run(folder)
    return sum(step.sample.write.bytes for step in found.steps) / found.manifest.target.user_capacity_bytes


def pairs(short: Path, full: Path) -> Iterator[Pair]:
    """Key values that have an uncertainty, in both forms."""
    ours, theirs = (summarize(read_run(folder))["measures"] for folder in (short, full))
    for name, one in ours.items():
        other = theirs.get(name, {})
        if all(each.get("value") and each.get("uncertainty") for each in (one, other)):
            expanded = (each["uncertainty"]["expanded"] for each in (one, other))
            yield Pair(name, one["value"], other["value"], *expanded)


def compared(test: str, seed: int, folder: Path) -> list[Pair]:
    """Both forms on one drive, printed."""
    drive = draw("enterprise", seed, folder)
    short = run(test, drive.target(scale=SHORT_SCALE), folder / f"{test}-{seed}-short", seed, "--short")
    full = run(test, drive.target(scale=FULL_SCALE), folder / f"{test}-{seed}-full", seed)
    found = list(pairs(short, full))
    amounts = f"{test} {seed}: wrote {written(short):.2f} and {written(full):.2f}"
    print(amounts, *(one.text for one in found), sep="; ", flush=True)
    return found


def main() -> None:
    """Print a line for each drive, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", default="iops")
    options = parser.parse_args()
    for test in options.tests.split(","):
        found: dict[str, list[Pair]] = {}
        with TemporaryDirectory() as place:
            for seed in range(options.seed, options.seed + options.drives):
                for one in compared(test, seed, Path(place)):
                    found.setdefault(one.name, []).append(one)
        for name, rows in found.items():
            held = sum(one.is_within for one in rows)
            both = sum(one.is_within_both for one in rows)
            error = 100 * median(abs(one.error) for one in rows)
            print(
                f"{name}: median error {error:.1f} %, {held} of {len(rows)} within the interval, "
                f"{both} within that of both"
            )


if __name__ == "__main__":
    main()
