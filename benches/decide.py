"""Sequential decisions: wrong answers, and rounds used of those of a fixed plan.

On numbers: rounds are drawn with a spread that is a share of what the plan assumed, around nothing, the
margin and twice the margin. On drives: pairs of simulated drives that are alike but for their seed, and pairs
of which one has a fifth less flash beside its capacity.

    .venv/bin/python -m benches.decide [--decisions 1000] [--seed 1] [--drives 0] [--first 1]
"""

import argparse
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from statistics import median, stdev
from tempfile import TemporaryDirectory

from benches.drawn_drives import draw

from openpts.analysis.uncertainty import Block
from openpts_twin.decide.sequential import Decision, Lengths, look

MARGIN = -math.log(0.95)
ROUND_NS = 60 * 10**9


def decided(chance: random.Random, mean: float, spread: float, lengths: Lengths) -> tuple[Decision, float]:
    blocks: list[Block] = []
    while len(blocks) < lengths.most:
        blocks.append(Block(len(blocks) * ROUND_NS, ROUND_NS, chance.gauss(mean, spread)))
        found = look(blocks, MARGIN, lengths.most).decision
        if found is not Decision.OPEN:
            return found, len(blocks) / lengths.fixed
    return Decision.OPEN, len(blocks) / lengths.fixed


def on_numbers(count: int, seed: int) -> None:
    print("| assumed | drawn | difference | yes | no | open | median cost | largest |")
    print("|---|---|---|---|---|---|---|---|")
    every: list[float] = []
    for assumed in (0.02, 0.05, 0.08):
        lengths = Lengths.of(MARGIN, assumed)
        for of_assumed in (1.0, 0.5, 0.2):
            for times, name in ((0, "none"), (1, "the margin"), (2, "twice")):
                chance = random.Random(f"{seed}-{assumed}-{of_assumed}-{times}")
                found = [decided(chance, times * MARGIN, of_assumed * assumed, lengths) for _ in range(count)]
                shares = [100 * sum(one is kind for one, _ in found) / count for kind in Decision]
                costs = [cost for _, cost in found]
                every += costs
                print(
                    f"| {100 * assumed:g} % | {100 * assumed * of_assumed:.2g} % | {name} | "
                    + " | ".join(f"{share:.1f} %" for share in shares)
                    + f" | {100 * median(costs):.0f} % | {100 * max(costs):.0f} % |",
                    flush=True,
                )
    print(
        f"{len(every)} decisions: median cost {100 * median(every):.0f} %, largest {100 * max(every):.0f} %"
    )


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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drives", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--scale", type=int, default=290)
    given = parser.parse_args()
    if given.decisions:
        on_numbers(given.decisions, given.seed)
    if given.drives:
        on_drives(given.first, given.drives, given.scale)


if __name__ == "__main__":
    main()
