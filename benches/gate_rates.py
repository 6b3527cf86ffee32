"""How often a gate fires on unchanged firmware, and how often it finds a loss: on simulated drives.

Runs of a firmware, and of the same with a loss, are made once, each with a seed of its own. A comparison
draws three of either without replacement, and two more of either while the gate asks for them. The firmware
after is the same one, one that is 5 % slower on average, and one whose 99.9 % response time is 20 % longer.
The gate is that of `openpts gate`, with limits of -3 % on IOPS and +10 % on the percentile. Losses come from
longer program times of the flash, which the bench finds first, on drives of other seeds.

    .venv/bin/python -m benches.gate_rates [--comparisons 1000] [--runs 200] [--workers 2] [--json FILE]

A run takes a quarter of a second of a processor. Comparisons share runs, so that rates are right on average
but vary more than those of as many comparisons with runs of their own: for these make as many runs as
comparisons times 14. Nothing is written but run folders in a temporary folder; TMPDIR=/dev/shm is in memory.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

from scipy.stats import beta
from tests.simulated.one_point import run_one_point

from openpts.record.reader import Run, read_run
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
_CALIBRATION_SEED: Final = 10**9


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


def short_run(preset: str, seed: int) -> Run:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        target = f"{preset}?capacity={CAPACITY}&state=worn-in&seed={seed}"
        purge = PurgeChoice.NONE
        run_one_point(target, folder, max_rounds=5, step_s=ROUND_S, point=POINT, purge=purge, seed=seed)
        return read_run(folder)


def with_program_time(place: Path, name: str, factor: float) -> Path:
    """The preset, without the figures that a change of it would contradict, with a longer program time."""
    text = PRESET.read_text().partition("# Published figures")[0]
    assert text.count(PROGRAM) == 1
    path = place / f"{name}.toml"
    path.write_text(text.replace(PROGRAM, f"program_us = {2880 * factor:.3f}"))
    load_preset(str(path))
    return path


def factor_of(place: Path, measure: str, wanted: float, runs_of: "RunsOf") -> float:
    """The factor of the program time that changes a measure by the wanted ratio, on some drives."""

    def mean(factor: float) -> float:
        preset = str(with_program_time(place, f"trial-{factor}", factor))
        seeds = range(_CALIBRATION_SEED, _CALIBRATION_SEED + _CALIBRATIONS)
        return fmean(value_of(run, measure) for run in runs_of(preset, seeds))

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


def compared(
    limits: LimitSet, before: list[GatedRun], after: list[GatedRun], draw: random.Random
) -> tuple[Judgement, int]:
    """The verdict on runs that are drawn, none of them twice, and how many of a side it took."""
    most = RUNS[-1]
    if after is before:
        drawn = draw.sample(before, 2 * most)
        bases, candidates = drawn[:most], drawn[most:]
    else:
        bases, candidates = draw.sample(before, most), draw.sample(after, most)
    for runs in RUNS:
        verdict = judge(limits, candidates[:runs], bases[:runs]).verdict
        if verdict is not Judgement.NO_VERDICT:
            break
    return verdict, runs


RunsOf = Callable[[str, Iterable[int]], list[GatedRun]]


def runs_by(workers: ProcessPoolExecutor) -> RunsOf:
    def runs_of(preset: str, seeds: Iterable[int]) -> list[GatedRun]:
        return [GatedRun.of(run) for run in workers.map(partial(short_run, preset), seeds)]

    return runs_of


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    limits, draw = parse_limits(LIMITS.encode(), "limits of the bench"), random.Random(21)
    rates = []
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(args.workers) as workers:
        place, runs_of = Path(folder), runs_by(workers)
        unchanged = runs_of(str(with_program_time(place, "unchanged", 1.0)), range(args.runs))
        for number, scenario in enumerate((UNCHANGED, *LOSSES)):
            after = unchanged
            if scenario in LOSSES:
                factor = factor_of(place, *LOSSES[scenario], runs_of)
                print(f"{scenario}: program time x {factor:.3f}", flush=True)
                seeds = range(number * args.runs, (number + 1) * args.runs)
                after = runs_of(str(with_program_time(place, f"slower-{number}", factor)), seeds)
            found = [compared(limits, unchanged, after, draw) for _ in range(args.comparisons)]
            verdicts = Counter(verdict for verdict, _ in found)
            runs = fmean(runs for _, runs in found)
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
