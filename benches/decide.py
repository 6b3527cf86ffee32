"""Sequential decisions: wrong answers, and rounds used of those of a fixed plan.

On numbers: quarters of rounds are drawn with a spread that is a share of what the plan assumed, around
nothing, the margin and twice the margin; and seconds with a noise that lasts. On drives: pairs of simulated
drives that are alike but for their seed, and pairs of which one has a fifth less flash beside its capacity.

    .venv/bin/python -m benches.decide [--decisions 1000] [--lasting 0] [--assumed 5] [--seed 1]
        [--drives 0] [--first 1]
"""

import argparse
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median, stdev
from tempfile import TemporaryDirectory

import numpy as np
from benches import lasting_noise
from benches.drawn_drives import draw
from benches.lasting_noise import seconds_of

from openpts.analysis.uncertainty import Block
from openpts_twin.decide.sequential import Decision, Lengths, look

MARGIN = -math.log(0.95)
QUARTER_S = 15
QUARTER_NS = QUARTER_S * 10**9


def decided(quarter: Callable[[int], Block], lengths: Lengths) -> tuple[Decision, float]:
    """The answer, and its rounds as a share of those of the fixed plan."""
    blocks: list[Block] = []
    found = Decision.OPEN
    is_over = False
    while not is_over:
        blocks.append(quarter(len(blocks)))
        seen = look(blocks, MARGIN, lengths.most)
        found = seen.decision
        is_over = found is not Decision.OPEN or lengths.has_ended(seen)
    return found, len(blocks) / lengths.looks_per_round / lengths.fixed


def white(chance: random.Random, mean: float, spread: float) -> Callable[[int], Block]:
    return lambda place: Block(place * QUARTER_NS, QUARTER_NS, chance.gauss(mean, spread))


def on_numbers(count: int, seed: int) -> None:
    print("| assumed | drawn | difference | yes | no | open | median cost | largest |")
    print("|---|---|---|---|---|---|---|---|")
    every: list[float] = []
    for assumed in (0.02, 0.05, 0.08):
        lengths = Lengths.of(MARGIN, assumed)
        for of_assumed in (1.0, 0.5, 0.2):
            for times, name in ((0, "none"), (1, "the margin"), (2, "twice")):
                chance = random.Random(f"{seed}-{assumed}-{of_assumed}-{times}")
                quarter = white(
                    chance, times * MARGIN, of_assumed * assumed * math.sqrt(lengths.looks_per_round)
                )
                found = [decided(quarter, lengths) for _ in range(count)]
                every += [cost for _, cost in found]
                print(
                    f"| {100 * assumed:g} % | {100 * assumed * of_assumed:.2g} % {row(name, found)}",
                    flush=True,
                )
    print(
        f"{len(every)} decisions: median cost {100 * median(every):.0f} %, largest {100 * max(every):.0f} %"
    )


def row(name: str, found: list[tuple[Decision, float]]) -> str:
    shares = [100 * sum(one is kind for one, _ in found) / len(found) for kind in Decision]
    costs = [100 * cost for _, cost in found]
    words = " | ".join(f"{share:.1f} %" for share in shares)
    return f"| {name} | {words} | {median(costs):.0f} % | {max(costs):.0f} % |"


def on_lasting_noise(count: int, seed: int, assumed: float) -> None:
    """Rounds vary as was assumed by 5 %; what else is assumed makes the plan longer."""
    print("| noise lasts | difference | yes | no | open | median cost | largest |")
    print("|---|---|---|---|---|---|---|")
    lengths = Lengths.of(MARGIN, assumed)
    words = {1: Decision.YES, -1: Decision.NO, 0: Decision.OPEN}
    for lasts_s in (0, 3, 15, 60):
        for times, name in ((0, "none"), (1, "the margin"), (2, "twice")):
            chance = np.random.default_rng([seed, lasts_s, times])
            seconds = times * MARGIN + seconds_of(chance, count, lengths.longest, 0.05, lasts_s)
            made = zip(*lasting_noise.decided(seconds, MARGIN, lengths), strict=True)
            fixed = lengths.looks_per_round * lengths.fixed
            found = [(words[int(answer)], quarters / fixed) for answer, quarters in made]
            print(f"| {lasts_s} s {row(name, found)}", flush=True)


def openpts(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "openpts", *words], capture_output=True, text=True, check=False
    )


def on_drives(first: int, count: int, scale: int) -> None:
    """Pairs that differ in what flash there is beside the capacity, or in nothing but their seed."""
    print("| drive | truth | answer | measured | rounds | of fixed | spread of rounds |")
    print("|---|---|---|---|---|---|---|")
    for seed in range(first, first + count):
        with TemporaryDirectory() as work:
            folder = Path(work)
            one = draw("enterprise", seed, folder)
            ratio = one.content["page_mapped"]["mapping"]["physical_per_user"]
            less = ratio if seed % 2 else round(1 + (ratio - 1) * 0.8, 3)
            (folder / "b").mkdir()
            other = draw("enterprise", seed, folder / "b", {"page_mapped.mapping.physical_per_user": less})
            targets = [one.target(scale=scale), other.target(scale=scale, seed=99)]
            truth = "alike" if seed % 2 else f"spare flash x {(less - 1) / (ratio - 1):.2f}"
            out = folder / "out"
            ended = openpts("decide", "B slower than A by 5 %", *targets, "--out", str(out), "--no-report")
            if not (out / "decision.json").exists():
                print(f"| {seed} | {truth} | {ended.stderr.strip().splitlines()[-1]} |", flush=True)
                continue
            found = json.loads((out / "decision.json").read_text())
            logs = [math.log(b / a) for a, b in found["values"]]
            share, spread = found["rounds"] / found["fixed_rounds"], stdev(logs)
            print(
                f"| {seed} | {truth} | {found['decision']} | {found['difference_pct']:+.2f} % "
                f"| {found['rounds']} | {100 * share:.0f} % | {100 * spread:.2f} % |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--lasting", type=int, default=0)
    parser.add_argument(
        "--assumed", type=float, default=5.0, help="spread that plans under such noise are for"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drives", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--scale", type=int, default=250)
    given = parser.parse_args()
    if given.decisions:
        on_numbers(given.decisions, given.seed)
    if given.lasting:
        on_lasting_noise(given.lasting, given.seed, given.assumed / 100)
    if given.drives:
        on_drives(given.first, given.drives, given.scale)


if __name__ == "__main__":
    main()
