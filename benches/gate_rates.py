"""How often a gate fires on unchanged firmware, and how often it finds a loss: on simulated drives.

Each comparison makes runs of its own, each with a seed of its own: three of the firmware before against three
of the firmware after, and two more of either while the gate asks for them. The firmware after is the same
one, one that is 5 % slower on average, and one whose 99.9 % response time is 20 % longer. The gate is that of
`openpts gate`, with limits of -3 % on IOPS and +10 % on the percentile. Losses come from longer program times
of the flash, which the bench finds first, on drives of other seeds.

    .venv/bin/python -m benches.gate_rates [--comparisons 400] [--workers 2] [--json FILE]

A run takes a third of a second of a processor, 400 comparisons about half an hour of two. Nothing is written
but run folders in a temporary folder; with TMPDIR=/dev/shm they are in memory.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Final

from scipy.stats import beta
from tests.simulated.one_point import run_one_point

from openpts.record.reader import read_run
from openpts.report.gate.figures import GatedRun
from openpts.report.gate.judge import judge
from openpts.report.gate.limits_file import LimitSet, parse_limits
from openpts.simulation.presets import load_preset
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable

PRESET: Final = Path("python/openpts/simulation/presets/enterprise-tlc.toml")
PROGRAM: Final = "program_us = 2880.0"
CAPACITY: Final = "1GB"
POINT: Final = TrackingVariable(AccessPattern.RANDOM, 4096, 65)
ROUND_S: Final = 0.1
RUNS: Final = (3, 5, 7)
IOPS: Final = "iops.rnd-4k-rw65"
TAIL: Final = "iops.rnd-4k-rw65.p99.9"
LIMITS: Final = f'limits = ["{IOPS} >= -3 %", "{TAIL} <= +10 %"]\nallow = ["deviations", "not steady"]\n'
UNCHANGED: Final = "unchanged"
LOSSES: Final = {"5 % loss of mean": (IOPS, 0.95), "20 % loss of p99.9": (TAIL, 1.2)}
_CALIBRATIONS: Final = 6
_SEEDS_OF_A_COMPARISON: Final = 1000


@dataclass(frozen=True)
class Rate:
    """Of so many comparisons, how often the gate called a limit failed, with its exact 95 % bounds."""

    scenario: str
    comparisons: int
    fired: int
    without_verdict: int
    mean_runs: float

    @property
    def bounds_pct(self) -> tuple[float, float]:
        fired, rest = self.fired, self.comparisons - self.fired
        low = beta.ppf(0.025, fired, rest + 1) if fired else 0.0
        high = beta.ppf(0.975, fired + 1, rest) if rest else 1.0
        return 100 * float(low), 100 * float(high)


def gated_run(preset: Path, seed: int) -> GatedRun:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        target = f"{preset}?capacity={CAPACITY}&state=worn-in&seed={seed}"
        run_one_point(
            target,
            folder,
            max_rounds=5,
            step_s=ROUND_S,
            point=POINT,
            purge=PurgeChoice.NONE,
            seed=seed,
        )
        return GatedRun.of(read_run(folder))


def with_program_time(place: Path, name: str, factor: float) -> Path:
    """The preset, without the figures that a change of it would contradict, with a longer program time."""
    text = PRESET.read_text().partition("# Published figures")[0]
    assert text.count(PROGRAM) == 1
    path = place / f"{name}.toml"
    path.write_text(text.replace(PROGRAM, f"program_us = {2880 * factor:.3f}"))
    load_preset(str(path))
    return path


def factor_of(place: Path, measure: str, wanted: float) -> float:
    """The factor of the program time that changes a measure by the wanted ratio, on some drives."""

    def mean(factor: float) -> float:
        preset = with_program_time(place, "trial", factor)
        return fmean(value_of(gated_run(preset, 10**9 + n), measure) for n in range(_CALIBRATIONS))

    unchanged, low, high = mean(1.0), 1.0, 1.6
    for _ in range(8):
        middle = (low + high) / 2
        enough = abs(mean(middle) / unchanged - 1) >= abs(wanted - 1)
        low, high = (low, middle) if enough else (middle, high)
    return (low + high) / 2


def value_of(run: GatedRun, measure: str) -> float:
    figure = run.find(measure)
    assert figure is not None
    assert figure.value is not None
    return figure.value


@cache
def limits() -> LimitSet:
    return parse_limits(LIMITS.encode(), "limits of the bench")


def compared(presets: dict[str, str], number: int) -> dict[str, tuple[Judgement, int]]:
    """The verdict and the runs of a side, for each firmware after, all against the same runs before."""
    seeds = count(1 + number * _SEEDS_OF_A_COMPARISON)
    before: list[GatedRun] = []
    found = {}
    for scenario, preset in presets.items():
        after: list[GatedRun] = []
        for runs in RUNS:
            extend(before, Path(presets[UNCHANGED]), runs, seeds)
            extend(after, Path(preset), runs, seeds)
            verdict = judge(limits(), after, before[:runs]).verdict
            if verdict is not Judgement.NO_VERDICT:
                break
        found[scenario] = (verdict, runs)
    return found


def extend(runs: list[GatedRun], preset: Path, wanted: int, seeds: Iterator[int]) -> None:
    while len(runs) < wanted:
        runs.append(gated_run(preset, next(seeds)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(args.workers) as workers:
        place = Path(folder)
        presets = {UNCHANGED: str(with_program_time(place, "unchanged", 1.0))}
        for number, (scenario, (measure, wanted)) in enumerate(LOSSES.items()):
            factor = factor_of(place, measure, wanted)
            presets[scenario] = str(with_program_time(place, f"slower-{number}", factor))
            print(f"{scenario}: program time x {factor:.3f}", flush=True)
        found = list(workers.map(partial(compared, presets), range(args.comparisons)))
    rates = []
    for scenario in presets:
        verdicts = Counter(one[scenario][0] for one in found)
        runs = fmean(one[scenario][1] for one in found)
        rates.append(
            Rate(scenario, len(found), verdicts[Judgement.FAIL], verdicts[Judgement.NO_VERDICT], runs)
        )
    for rate in rates:
        low, high = rate.bounds_pct
        print(
            f"{rate.scenario}: fired in {rate.fired} of {rate.comparisons} ({low:.2f} to {high:.2f} %), "
            f"{rate.without_verdict} without a verdict, {rate.mean_runs:.1f} runs of a side"
        )
    if args.json:
        args.json.write_text(json.dumps([asdict(rate) for rate in rates], indent=2))


if __name__ == "__main__":
    main()
