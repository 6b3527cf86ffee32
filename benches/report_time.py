"""How long reports take and how large they are: one test, and a suite of eight at full length.

    python -m benches.report_time [--suite FOLDER] [--repeats N]

Each report is made by the command, in a process of its own, its start included. Cold: nothing is kept from
reports before; warm: all drawings and the parts of the runs are. Without ``--suite`` the suite is run on
``sim:enterprise-tlc`` first, which takes some minutes.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.targets import children_cpu_s, machine

SEED = 1
ONE_TEST = "1-iops"
MB = 1e6


@dataclass(frozen=True)
class Report:
    """Wall clock and processor time in s, sizes in bytes."""

    wall_s: float
    cpu_s: float
    html_bytes: int
    pdf_bytes: int


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="openpts-bench-") as scratch:
        suite = options.suite or _suite(Path(scratch) / "suite")
        print(f"{machine()}; load {os.getloadavg()[0]:.1f} before")
        print("| report | cold, s | warm, s | processor time warm, s | HTML, MB | PDF, MB |")
        print("|---|---|---|---|---|---|")
        for name, folder in (("IOPS", suite / ONE_TEST), ("eight tests", suite)):
            cold, warm = _measured(folder, Path(scratch), options.repeats)
            cells = (
                _median(cold, "wall_s"), _median(warm, "wall_s"), _median(warm, "cpu_s"),
                _median(warm, "html_bytes", MB), _median(warm, "pdf_bytes", MB),
            )  # fmt: skip
            print(f"| {name} | {' | '.join(cells)} |")
        print(f"load {os.getloadavg()[0]:.1f} after; medians of {options.repeats}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", type=Path, help="a suite of all eight tests that was run before")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


def _suite(folder: Path) -> Path:
    _openpts(["run", "all", "sim:enterprise-tlc", "--no-report", "--seed", str(SEED), "--out", str(folder)])
    return folder


def _measured(folder: Path, scratch: Path, repeats: int) -> tuple[list[Report], list[Report]]:
    """Cold and warm reports, in turn."""
    cold, warm = [], []
    for _ in range(repeats):
        cache = Path(tempfile.mkdtemp(dir=scratch))
        cold.append(_report(folder, scratch, cache))
        warm.append(_report(folder, scratch, cache))
        shutil.rmtree(cache)
    return cold, warm


def _report(folder: Path, scratch: Path, cache: Path) -> Report:
    out = Path(tempfile.mkdtemp(dir=scratch))
    before, start = children_cpu_s(), time.perf_counter()
    _openpts(["report", str(folder), "--out", str(out)], {"XDG_CACHE_HOME": str(cache)})
    wall_s, cpu_s = time.perf_counter() - start, children_cpu_s() - before
    sizes = {path.suffix: path.stat().st_size for path in out.iterdir() if path.is_file()}
    shutil.rmtree(out)
    return Report(wall_s, cpu_s, sizes[".html"], sizes[".pdf"])


def _openpts(arguments: Sequence[str], environment: dict[str, str] | None = None) -> None:
    program = str(Path(sys.executable).with_name("openpts"))
    subprocess.run(
        [program, *arguments],
        check=True,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _median(reports: Sequence[Report], field: str, unit: float = 1) -> str:
    return f"{statistics.median(getattr(report, field) for report in reports) / unit:.1f}"


if __name__ == "__main__":
    main()
