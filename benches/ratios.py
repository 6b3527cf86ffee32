"""Whether the report and the start of openpts have become slower, relative to a fixed piece of work.

    python -m benches.ratios [--set]

Processor time of commands, each in turn with that of the fixed piece of work in the same minute: a faster
machine changes both. The medians of the ratios are held against ``ratios.toml``: one that is 15 % above
its limit fails, after it was measured three times. ``--set`` moves the limits, for what is slower on
purpose: in a commit of its own that says why.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import tomli_w

from benches.targets import children_cpu_s

_LIMITS: Final = Path(__file__).with_name("ratios.toml")
_MOST_ABOVE: Final = 1.15
_PAIRS: Final = 9
_MEASUREMENTS: Final = 3
# Modules of the standard library and texts: what commands do, too.
_FIXED: Final = """
import argparse, asyncio, concurrent.futures, decimal, email.message, http.client, json, logging.config
import sqlite3, unittest.mock, xml.dom.minidom, zlib
rows = [{"name": f"row {n}", "values": [n * k / 7 for k in range(40)]} for n in range(600)]
for _ in range(3):
    text = json.dumps(rows, indent=1)
    zlib.compress(text.encode(), 6)
    sum(len(word) for line in text.splitlines() for word in line.split(","))
"""


def main() -> int:
    """Print the ratios, and say whether they keep their limits."""
    limits: dict[str, float] = tomllib.loads(_LIMITS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="openpts-bench-") as scratch:
        commands = _commands(Path(scratch))
        for _ in range(1 if "--set" in sys.argv else _MEASUREMENTS):
            ratios = {name: _ratio(words) for name, words in commands.items()}
            slower = {name for name, ratio in ratios.items() if ratio > limits[name] * _MOST_ABOVE}
            if not slower:
                break
    if "--set" in sys.argv:
        rounded = {name: round(ratio, 2) for name, ratio in ratios.items()}
        _LIMITS.write_text(tomli_w.dumps(rounded), encoding="utf-8")
        return 0
    for name, ratio in ratios.items():
        verdict, most = "fails" if name in slower else "passes", limits[name] * _MOST_ABOVE
        print(f"{name}: {verdict} with {ratio:.2f} times the fixed piece of work; fails above {most:.2f}")
    return int(bool(slower))


def _commands(scratch: Path) -> Mapping[str, Sequence[str]]:
    """Start: the help of a test. Report: that of a run in virtual time, with all drawings made anew."""
    openpts = [sys.executable, "-m", "openpts"]
    run = scratch / "run"
    wanted = ["sim:client-qlc?capacity=4GB", "--quick", "--seed", "1", "--no-report", "--out", str(run)]
    subprocess.run([*openpts, "run", "iops", *wanted], check=True, stdout=subprocess.DEVNULL)
    return {
        "start": [*openpts, "run", "iops", "--help"],
        "report": [*openpts, "report", str(run), "--out", str(scratch / "report")],
    }


def _ratio(words: Sequence[str]) -> float:
    """Median of pairs, behind one that is not counted: it loads and compiles."""
    pairs = [(_cpu_s(words), _cpu_s([sys.executable, "-c", _FIXED])) for _ in range(_PAIRS + 1)]
    return statistics.median(ours / fixed for ours, fixed in pairs[1:])


def _cpu_s(words: Sequence[str]) -> float:
    before = children_cpu_s()
    environment = {**os.environ, "OPENPTS_CACHE": "off"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled once, as installed
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children_cpu_s() - before


if __name__ == "__main__":
    sys.exit(main())
