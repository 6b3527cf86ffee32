"""How often U holds the truth in whole runs: `openpts run` on oracle drives whose rate has drawn noise.

    python -m benches.whole_run_coverage 200 --tests iops lat --laws "AR(1), 60 s"

Each run is started by its command line, on a drive of its own: a script with the rate of each second, which
is a known one with 2 % of noise. Its record is what the engine and the runner made of it, and the printed
expanded uncertainty is held against the known rate. Writes no page: what it prints is for
uncertainty.md.
"""

import argparse
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np
import tomli_w
from click.testing import CliRunner
from numpy.typing import NDArray

from openpts.cli.main import cli
from openpts.temporary_folder import in_memory, temporary_folder
from openpts.units import KIB, MB
from tests.support.noisy_runs import AMPLITUDE, LAWS


class Case(NamedTuple):
    """A test as it is started: the rate of its drive when it has settled, and how long it lasts at the most.

    ``plateau`` is how many times as fast the drive is for 40 minutes, before a slope of ten with jumps.
    """

    words: str
    iops: float
    seconds: int
    capacity_bytes: int = 2**24
    plateau: float = 1.0

    def profile(self) -> NDArray[np.float64]:
        """The true rate of each second."""
        moments_s = np.arange(self.seconds) + 0.5
        high, low = 1 + 0.8 * (self.plateau - 1), 1 + 0.2 * (self.plateau - 1)
        levels = (self.plateau, high, low, 1.0)
        factors = np.interp(moments_s, (2400, 2400.001, 3000, 3000.001), levels)
        return np.asarray(self.iops * factors, np.float64)


CASES: Final = {
    "iops": Case("--read-pcts 0,65 --block-sizes 4KiB --tracking RND_4KiB_RW0 --tc 1 --qd 4", 200, 900),
    "lat": Case("--block-sizes 4KiB --histogram-seconds 60", 100, 1500),
    "wsat": Case("--tc 1 --qd 1", 20, 24_000, 2**30, 4.0),
    "tp": Case("--block-sizes 128KiB --qd 1", 50, 900),
    "iops-56": Case("--tc 1 --qd 1", 20, 18_000),
}
"""By the name of a test, with the number of elements of a Round behind it where it has others."""


def truth(case: Case, name: str, unit: str) -> float:
    """What a figure would be without noise."""
    if name.endswith("plateau_to_end_zone_ratio"):
        return case.plateau
    iops = case.iops * (case.plateau if name.endswith("plateau_iops") else 1)
    return {"IOPS": iops, "MB/s": iops * 128 * KIB / MB}.get(unit, 1000 / iops)


def outcomes(test: str, law: str, seed: int) -> dict[str, str]:
    """Of a whole run: by the name of each measure whether its interval ``holds`` the truth, lies too ``low``
    or too ``high``, or why there is none.
    """
    case, order = CASES[test], (list(CASES).index(test), list(LAWS).index(law), seed)
    noise = LAWS[law](np.random.default_rng(order))(0.0, case.seconds, 1.0)
    rates = (case.profile() * (1 + AMPLITUDE * noise)).tolist()
    script = {"rate": {"by": "seconds", "every": 1, "iops": rates}}
    preset = {"name": "noisy", "summary": "A script with noise", "purge": "works", "oracle": script}
    with temporary_folder("coverage", in_memory()) as folder:
        drive = folder / "drive.toml"
        drive.write_text(tomli_w.dumps({**preset, "capacity_bytes": case.capacity_bytes}))
        options = [word.replace("_", " ") for word in case.words.split()]
        words = [
            "run",
            test.partition("-")[0],
            f"sim:{drive}",
            "--out",
            str(folder / "run"),
            "--no-report",
            "--json",
            *options,
        ]
        ended = CliRunner().invoke(cli, words, standalone_mode=False)
        if ended.exception is not None:
            raise RuntimeError(f"{test}, {law}, {seed}: {ended.exception}")
        measures = json.loads(ended.stdout)["measures"]
    return {name: _outcome(one, truth(case, name, one["unit"])) for name, one in measures.items()}


def _outcome(measure: dict[str, Any], wanted: float) -> str:
    if measure["value"] is None or measure["uncertainty"] is None:
        return "no U"
    off, reach = measure["value"] - wanted, measure["uncertainty"]["expanded"]
    return "holds" if abs(off) <= reach else "high" if off > 0 else "low"


def rows(found: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    """Lines of a table in Markdown: per cent of the runs that have a U, by law."""
    yield f"| Test | Figure | {' | '.join(found)} |"
    yield f"|---|---|{'---|' * len(found)}"
    for name in dict.fromkeys(name for runs in found.values() for run in runs for name in run):
        cells = []
        for runs in found.values():
            counts = Counter(run[name] for run in runs if name in run)
            stated = counts["holds"] + counts["low"] + counts["high"]
            share = f"{100 * counts['holds'] / stated:.1f} of {stated}" if stated else "-"
            cells.append(f"{share} ({counts['low']} low, {counts['high']} high)" if stated else share)
        if set(cells) != {"-"}:
            test, _, figure = name.partition(": ")
            yield f"| {test.upper()} | `{figure}` | {' | '.join(cells)} |"


def _kept(file: Path | None) -> dict[tuple[str, str, int], dict[str, str]]:
    lines = file.read_text().splitlines() if file and file.exists() else ()
    return {(test, law, seed): outcome for (test, law, seed), outcome in map(json.loads, lines)}


def _run(asked: tuple[str, str, int]) -> dict[str, str]:
    os.environ["OPENPTS_CACHE"] = "off"
    return {f"{asked[0]}: {name}": outcome for name, outcome in outcomes(*asked).items()}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("runs", type=int)
    words.add_argument("--first", type=int, default=1, help="the first seed")
    words.add_argument("--tests", nargs="+", default=list(CASES), choices=CASES)
    words.add_argument("--laws", nargs="+", default=list(LAWS), choices=LAWS)
    words.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    words.add_argument("--kept", type=Path, help="a file of outcomes: runs that it has are not made again")
    given = words.parse_args()
    began_s = time.monotonic()
    seeds = range(given.first, given.first + given.runs)
    asked = [(test, law, seed) for seed, test, law in product(seeds, given.tests, given.laws)]
    kept = _kept(given.kept)
    with ProcessPoolExecutor(given.at_once) as workers:
        missing = [one for one in asked if one not in kept]
        for one, outcome in zip(missing, workers.map(_run, missing), strict=True):
            kept[one] = outcome
            if given.kept:
                with given.kept.open("a") as file:
                    file.write(json.dumps([one, outcome]) + "\n")
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for one in asked:
        found[one[1]].append(kept[one])
    for line in rows(found):
        click.echo(line)
    click.echo(f"{len(asked)} runs in {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
