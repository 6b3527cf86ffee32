"""How often a gate fires on unchanged firmware, and how often it finds a loss: on simulated drives.

A comparison makes three runs of the firmware before and three of the one after, and two more of either while
the gate asks for them. Every run has a seed of its own, so that comparisons are independent trials. The
firmware after is the same one, one that is 5 % slower on average, and one whose 99.9 % response time is 20 %
longer. The gate is that of `openpts gate`, with limits of -3 % on IOPS and +10 % on the percentile. Losses
come from longer program times of the flash, which the bench finds first, on drives of other seeds.

Runs of a real drive are less independent. With --laws nothing is run: figures are drawn by the noise that is
named, of a candidate that is exactly at its limit, three runs a side, and the gate's rule judges them at one
look with the whole false alarm. Sides were made one behind the other, or in turn.

    .venv/bin/python -m benches.gate_rates [--comparisons 400] [--workers 2] [--json FILE]
    .venv/bin/python -m benches.gate_rates --laws [--comparisons 100000]

A run takes a tenth of a second of a processor with its evaluation, 400 comparisons of each some 15 minutes.
Nothing is written but run folders in a temporary folder; TMPDIR=/dev/shm is in memory.
"""

import argparse
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from openpts.analysis.ratio import ErrorRule, ratio_of
from openpts.analysis.run_comparison import Made, are_apart
from openpts.record.reader import Run, read_run
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from openpts_compare.limits.judge import judge
from openpts_compare.limits.limits_file import parse_limits
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_sim.presets import load_preset
from tests.support.one_point import run_one_point

PRESET: Final = Path("packages/openpts_sim/presets/enterprise-tlc.toml")
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
SPREAD: Final = 0.01
LAWS: Final = ("independent", "heavy tails", "AR(1) of 0.5", "AR(1) of 0.8", "a shift of each session")
ORDERS: Final = {"one side behind the other": (0, 0, 0, 1, 1, 1), "in turn": (0, 1, 0, 1, 0, 1)}
_CALIBRATIONS: Final = 6
_SCENARIO_SEEDS: Final = 10**6
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


def factor_of(place: Path, measure: str, wanted: float, workers: ProcessPoolExecutor) -> float:
    """The factor of the program time that changes a measure by the wanted ratio, on some drives."""

    def mean(factor: float) -> float:
        preset = str(with_program_time(place, f"trial-{factor}", factor))
        seeds = range(_CALIBRATION_SEED, _CALIBRATION_SEED + _CALIBRATIONS)
        return fmean(workers.map(partial(measured, preset, measure), seeds))

    unchanged, low, high = mean(1.0), 1.0, 1.6
    for _ in range(8):
        middle = (low + high) / 2
        enough = abs(mean(middle) / unchanged - 1) >= abs(wanted - 1)
        low, high = (low, middle) if enough else (middle, high)
    return (low + high) / 2


def measured(preset: str, measure: str, seed: int) -> float:
    figure = MeasuredRun.of(short_run(preset, seed)).find(measure)
    assert figure is not None
    assert figure.value is not None
    return figure.value


def compared(before: str, after: str, first_seed: int) -> tuple[Judgement, int]:
    """The verdict on runs of seeds from the first one on, and how many of a side it took."""
    limits = parse_limits(LIMITS.encode(), "limits of the bench")
    bases: list[MeasuredRun] = []
    candidates: list[MeasuredRun] = []
    for runs in RUNS:
        for side, preset, seed in ((bases, before, first_seed), (candidates, after, first_seed + RUNS[-1])):
            side += [MeasuredRun.of(short_run(preset, seed + number)) for number in range(len(side), runs)]
        verdict = judge(limits, candidates, bases).verdict
        if verdict is not Judgement.NO_VERDICT:
            break
    return verdict, runs


def rate_of(
    scenario: str,
    comparisons: int,
    compare: Callable[[int], tuple[Judgement, int]],
    pool: ProcessPoolExecutor,
) -> Rate:
    first = (*LOSSES, UNCHANGED).index(scenario) * _SCENARIO_SEEDS
    found = list(pool.map(compare, range(first, first + 2 * RUNS[-1] * comparisons, 2 * RUNS[-1])))
    verdicts = Counter(verdict for verdict, _ in found)
    return Rate(
        scenario,
        comparisons,
        verdicts[Judgement.FAIL],
        verdicts[Judgement.NO_VERDICT],
        fmean(runs for _, runs in found),
    )


def drawn(law: str, turns: Sequence[int], count: int, draw: np.random.Generator) -> npt.NDArray[np.float64]:
    """``count`` times the logarithms of runs in their order, of which ``turns`` has the side, 0 or 1."""
    values = draw.normal(size=(count, len(turns)))
    if law.startswith("AR(1)"):
        follow = float(law.removeprefix("AR(1) of "))
        for run in range(1, len(turns)):
            values[:, run] = follow * values[:, run - 1] + math.sqrt(1 - follow**2) * values[:, run]
    elif law == "heavy tails":
        values = draw.standard_t(3, size=values.shape)
    elif law == "a shift of each session":
        # sides in turn share all sessions, in which they were made one after the other
        session = np.cumsum(np.diff(turns, prepend=turns[0]) != 0) if sum(np.diff(turns) != 0) == 1 else 0
        values += draw.normal(size=(count, 2))[:, np.broadcast_to(session, len(turns))]
    return SPREAD * values


def law_rate(law: str, turns: Sequence[int], count: int) -> float:
    """How often a candidate that is exactly as good as the baseline fails at that limit, in per cent."""
    rule = ErrorRule(most_runs=1)
    side = np.array(turns)
    made = [[Made("host", float(place)) for place in np.flatnonzero(side == one)] for one in (0, 1)]
    apart = are_apart(*made)
    values = np.exp(drawn(law, turns, count, np.random.default_rng(7)))
    fired = 0
    for one in values:
        ratio = ratio_of(one[side == 0], one[side == 1], apart=apart)
        assert ratio is not None
        fired += ratio.high(rule.alarm_share) < 1
    return 100 * fired / count


def print_law_rates(count: int) -> None:
    for law in LAWS:
        found = [f"{law_rate(law, turns, count):.2f} % {order}" for order, turns in ORDERS.items()]
        print(f"{law}: false alarms {', '.join(found)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--laws", action="store_true")
    args = parser.parse_args()
    if args.laws:
        print_law_rates(args.comparisons)
        return
    rates: list[Rate] = []
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(args.workers) as workers:
        before = after = str(with_program_time(Path(folder), "before", 1.0))
        for scenario in (UNCHANGED, *LOSSES):
            if scenario in LOSSES:
                factor = factor_of(Path(folder), *LOSSES[scenario], workers)
                print(f"{scenario}: program time x {factor:.3f}", flush=True)
                after = str(with_program_time(Path(folder), f"slower-{len(rates)}", factor))
            rate = rate_of(scenario, args.comparisons, partial(compared, before, after), workers)
            rates.append(rate)
            low, high = rate.bounds_pct
            print(
                f"{scenario}: fired in {rate.fired} of {rate.comparisons} ({low:.2f} to {high:.2f} %), "
                f"{rate.without_verdict} without a verdict, {rate.mean_runs:.1f} runs of a side",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps([asdict(rate) for rate in rates], indent=2))


if __name__ == "__main__":
    main()
