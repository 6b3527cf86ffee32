"""How often a sound installation is stopped by its own self-check: whole starts, a process each.

    python -m benches.clean_starts 1000 --at-once 2 --seconds 0.2

Writes no page: what it prints is for docs/self-check.md. What computes in virtual time has no chance to
differ, as its seeds are fixed; Python's hashes have another seed in each start.
"""

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import click

_START: Final = """
import sys
from openpts_line.selfcheck.prove import prove
found = list(prove(float(sys.argv[1])))
stopped = [f"{one.check}: {fault}" for one in found for fault in one.faults]
print(len(found), *{one.verdict for one in found})
sys.exit(" | ".join(stopped) or None)
"""


def started(number: int, seconds: float) -> str:
    """Empty for a start that was not stopped, else what stopped it."""
    ended = subprocess.run(
        [sys.executable, "-c", _START, str(seconds)],
        env={**os.environ, "PYTHONHASHSEED": str(number), "OPENPTS_CACHE": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    if not ended.returncode:
        return "" if ended.stdout.split()[1:] == ["passed"] else ended.stdout.strip()
    return (ended.stderr.strip().splitlines() or ["ended"])[-1]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("starts", type=int)
    words.add_argument("--at-once", type=int, default=2)
    words.add_argument("--seconds", type=float, default=0.2)
    given = words.parse_args()
    began_s = time.monotonic()
    found: Counter[str] = Counter()
    with ThreadPoolExecutor(given.at_once) as threads:
        results = threads.map(lambda number: started(number, given.seconds), range(given.starts))
        for number, result in enumerate(results, start=1):
            found[result] += 1
            if result or number % 50 == 0:
                click.echo(f"{number} starts, {number - found['']} stopped {result}")
    click.echo(
        f"{given.starts - found['']} of {given.starts} starts stopped, in {time.monotonic() - began_s:.0f} s"
    )


if __name__ == "__main__":
    main()
