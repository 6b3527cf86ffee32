"""What `openpts plan` says against what runs took: time and bytes written, on simulated drives, with --quick.

A plan holds where what was taken is within its range. Runs are kept in a folder and used again: a change of
the planning leaves them as they are.

    .venv/bin/python -m benches.plans [--tests lat,fill] [--presets tlc,mlc] [--runs DIR] [--limit SECONDS]
"""

import argparse
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from openpts.units import GB, NS_PER_S, format_duration
from openpts_sim.presets import shipped_presets

_TESTS: Final = (
    *("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth"),
    *("fill", "sustained", "entropy", "benchmarks", "precon", "thermal", "trim", "qos"),
)
_TAKEN: Final = """
    SELECT sum(elapsed_ns + ramp_ns), (SELECT sum(bytes) FROM operation WHERE operation = 'write') FROM step
"""


class Compared(NamedTuple):
    """A figure of a plan, from least to most, and what the run took."""

    least: float
    most: float
    taken: float

    @property
    def holds(self) -> bool:
        """Whether the run is within the plan, rounding aside."""
        return 0.99 * self.least <= self.taken <= 1.01 * self.most

    @property
    def width(self) -> float:
        """How many times the least the most is: a plan that holds because it says nothing is no plan."""
        return self.most / self.least if self.least else 1.0


def planned(test: str, target: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The least and the most of the plan; None for what is refused."""
    found = _openpts("plan", test, target, "--quick", "--seed", "1", "--json")
    if found is None:
        return None
    plan = json.loads(found)
    return plan["shortest"], plan["longest"]


def taken(test: str, target: str, folder: Path, limit_s: float) -> tuple[int, int] | None:
    """Time in ns and bytes written of a run; None for one that fails, or takes longer than the limit."""
    if not folder.exists():
        words = ("run", test, target, "--quick", "--seed", "1", "--no-report", "--out", str(folder))
        if _openpts(*words, limit_s=limit_s) is None:
            return None
    with closing(sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)) as record:
        (state,) = record.execute("SELECT count(*) FROM step WHERE state != 'complete'").fetchone()
        elapsed_ns, written_bytes = record.execute(_TAKEN).fetchone()
    return None if state else (elapsed_ns, written_bytes or 0)


def _openpts(*words: str, limit_s: float = 60) -> str | None:
    command = [sys.executable, "-m", "openpts", *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=True).stdout
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None


def compared(
    tests: list[str], presets: list[str], runs: Path, limit_s: float
) -> Iterator[tuple[str, str, Compared, Compared]]:
    """Each test on each preset: time in s, and bytes."""
    for test in tests:
        for preset in presets:
            target = f"sim:{preset}"
            plan = planned(test, target)
            run = None if plan is None else taken(test, target, runs / f"{test}-{preset}", limit_s)
            if plan is None or run is None:
                print(f"{test:<12}{preset:<16}no {'plan' if plan is None else 'run'}", flush=True)
                continue
            least, most = plan
            yield (
                test,
                preset,
                Compared(least["duration_ns"] / NS_PER_S, most["duration_ns"] / NS_PER_S, run[0] / NS_PER_S),
                Compared(least["written_bytes"], most["written_bytes"], run[1]),
            )


def main() -> None:
    """Print a line for each, and how many hold."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tests", default=",".join(_TESTS))
    options.add_argument("--presets", default=",".join(one.name for one in shipped_presets()))
    options.add_argument("--runs", type=Path, default=Path("build/plans"))
    options.add_argument("--limit", type=float, default=120.0)
    given = options.parse_args()
    given.runs.mkdir(parents=True, exist_ok=True)
    held, widths = [], []
    for test, preset, time, written in compared(
        given.tests.split(","), given.presets.split(","), given.runs, given.limit
    ):
        held.append(time.holds and written.holds)
        widths.append(time.width)
        least, most, took = (format_duration(round(one * NS_PER_S)) for one in time)
        print(
            f"{test:<12}{preset:<16}{least:>14} to {most:<14}{took:<14}{'' if time.holds else 'MISSED':<8}"
            f"{written.least / GB:>12,.1f} to {written.most / GB:<12,.1f}{written.taken / GB:<12,.1f}"
            f"{'' if written.holds else 'MISSED'}",
            flush=True,
        )
    print(
        f"{sum(held)} of {len(held)} hold; widest {max(widths, default=1):.1f}, "
        f"median {sorted(widths)[len(widths) // 2] if widths else 1:.2f} times the least"
    )


if __name__ == "__main__":
    main()
