"""How often a population report names sound drives, and whether it names planted ones.

Values: populations are drawn of values that are normal, rounded, or long-tailed, with the rule of `openpts
population` and its share of errors for ten values. Laws are those on the scale that values are judged on, of
all but temperatures their logarithms. Drives: simulated drives of one model, whose program time and cooling
are drawn for each, run a short test; three are planted: one 5 % slower, one 3 K hotter, one with ten times
the tail. Then the report is made from the run folders.

    .venv/bin/python -m benches.population_outliers [--populations 4000] [--drives 100] [--folder DIR]

`--drives 0` leaves the simulated drives out. A run takes half a second of a processor.
"""

import argparse
import math
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from scipy.stats import beta
from tests.simulated.one_point import run_one_point

from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from openpts_many.population.drives import read_populations
from openpts_many.population.findings import FALSE_ALARM, SUSPICION, population_figures
from openpts_many.population.outliers import find_outliers
from openpts_many.population.words import named_line

PRESET: Final = Path("python/openpts/simulation/presets/enterprise-tlc.toml")
POINT: Final = TrackingVariable(AccessPattern.RANDOM, 4096, 65)
VALUES: Final = 10
SPREAD: Final = 0.005
SPREAD_K: Final = 0.3
SLOWER: Final = 1.073
"""A program time with which the test point is 5 % slower, found by trial."""
HOTTER_K: Final = 3.0
LONG_TAIL: Final = "period_ms = 300.0, stall_ms = 33.0"
"""Housekeeping with which p99.9 of the test point is ten times as long, found by trial."""
PLANTED: Final = ("5 % slower", "3 K hotter", "ten times the tail")
_DRAW: Final = random.Random(20010)


def of_t(degrees: float) -> float:
    return _DRAW.gauss(0, 1) / math.sqrt(_DRAW.gammavariate(degrees / 2, 2) / degrees)


LAWS: Final[dict[str, Callable[[], float]]] = {
    "normal (of values: log-normal)": lambda: _DRAW.gauss(0, 1),
    "exponential (Pareto)": lambda: _DRAW.expovariate(1),
    "Laplace": lambda: _DRAW.choice([-1, 1]) * _DRAW.expovariate(1),
    "logarithm of exponential (exponential)": lambda: math.log(_DRAW.expovariate(1)),
    "logarithm of gamma 1/2 (gamma 1/2)": lambda: math.log(_DRAW.gammavariate(0.5, 1)),
    "exponential, rounded to half its mean": lambda: round(2 * _DRAW.expovariate(1)) / 2,
    "two makers of flash, 6 sigma apart": lambda: _DRAW.gauss(_DRAW.choice([0, 6]), 1),
    "the same, a tenth of the drives": lambda: _DRAW.gauss(6 * (_DRAW.random() < 0.1), 1),
    "t, 10 degrees of freedom": lambda: of_t(10),
    "t, 4 degrees of freedom": lambda: of_t(4),
}
DRIVES: Final = (5, 10, 24, 100)


def bounds_pct(count: int, of: int) -> str:
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return f"{100 * count / of:.2f} % ({100 * low:.2f} to {100 * high:.2f})"


def least_chance(values: list[float]) -> float:
    """Of a report of ten values, for the drive that is farthest off in this one; 1 where none is suspect."""
    found = find_outliers(values, SUSPICION / VALUES).outliers
    return min((VALUES * one.chance for one in found), default=1.0)


def value_rates(populations: int) -> None:
    """Of ten values of each drive, all by one rule: how often a report names a sound drive."""
    print(f"{populations} reports of {VALUES} values on sound drives: a drive stands out; is worth a look")
    for name, draw in LAWS.items():
        for drives in DRIVES:
            chances = [
                min(least_chance([draw() for _ in range(drives)]) for _ in range(VALUES))
                for _ in range(populations)
            ]
            out, look = (sum(one <= error for one in chances) for error in (FALSE_ALARM, SUSPICION))
            print(
                f"  {name}, {drives} drives: {bounds_pct(out, populations)}; {bounds_pct(look, populations)}",
                flush=True,
            )


def power(populations: int) -> None:
    """How often a drive is found that is off by so many standard deviations of normal values."""
    for drives in DRIVES[1:]:
        for sigmas in (6, 8, 10, 12, 15, 20):
            chances = []
            for _ in range(populations):
                values = [_DRAW.gauss(0, 1) for _ in range(drives - 1)] + [float(sigmas)]
                found = find_outliers(values, SUSPICION / VALUES).outliers
                chances += [VALUES * one.chance for one in found if one.place == drives - 1]
            out, look = (
                100 * sum(one <= error for one in chances) / populations for error in (FALSE_ALARM, SUSPICION)
            )
            print(f"  {drives} drives, {sigmas} sigma off: stands out in {out:.0f} %, a look {look:.0f} %")


def preset(place: Path, number: int, planted: str) -> Path:
    """A drive of the model, with what is drawn for it and what is planted."""
    text = PRESET.read_text().partition("# Published figures")[0]
    program_us = 2880 * (SLOWER if planted == "5 % slower" else math.exp(_DRAW.gauss(0, SPREAD)))
    ambient_c = 30 + (HOTTER_K if planted == "3 K hotter" else _DRAW.gauss(0, SPREAD_K))
    changes = {"program_us = 2880.0": f"program_us = {program_us:.4f}"}
    changes["ambient_c = 30.0"] = f"ambient_c = {ambient_c:.4f}"
    if planted == "ten times the tail":
        changes["period_ms = 700.0, stall_ms = 1.8"] = LONG_TAIL
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = place / f"{number}" / "lot.toml"  # one name: one model
    path.parent.mkdir()
    path.write_text(text)
    return path


def simulated(place: Path, drives: int) -> None:
    """Three of the drives are planted; the report has to name these and no other."""
    planted = dict(zip(_DRAW.sample(range(drives), len(PLANTED)), PLANTED, strict=True))
    for number in range(drives):
        path = preset(place, number, planted.get(number, ""))
        target = f"{path}?capacity=64GB&scale=40&state=worn-in&seed={number}"
        folder = place / f"run-{number:03}"
        run_one_point(
            target, folder, max_rounds=5, step_s=15, point=POINT, purge=PurgeChoice.NONE, seed=number
        )
    (finding,) = population_figures(read_populations([place])).populations
    named: set[int] = set()
    for value in finding.values:
        print(f"  {value.title}: {value.median:.5g}, spread {value.spread:.2g} {value.distance_unit}")
        for word, found in (("stands out", value.named), ("worth a look", value.suspected)):
            for one in found:
                right = int(one.drive.removeprefix("SIM"), 16) in planted
                grade = word if right else f"{word} WRONGLY"
                print(f"    {grade}: {named_line(value, one)}; chance {one.chance:.2g}")
        named |= {int(one.drive.removeprefix("SIM"), 16) for one in value.named}
    for number, what in sorted(planted.items()):
        print(f"  planted: {what} is SIM{number:04X}")
    missed = [what for number, what in planted.items() if number not in named]
    print(f"  missed: {', '.join(missed) or 'none'}; sound drives named: {len(named - planted.keys())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--populations", type=int, default=4000)
    parser.add_argument("--drives", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="keep the simulated runs in this new folder")
    options = parser.parse_args()
    if options.populations:
        value_rates(options.populations)
        power(options.populations)
    if not options.drives:
        return
    print(f"{options.drives} simulated drives, three of them planted:")
    with TemporaryDirectory() as place:
        if options.folder is not None:
            options.folder.mkdir(parents=True)
        simulated(options.folder or Path(place), options.drives)


if __name__ == "__main__":
    main()
