"""What twins of drives that are drawn predict, beside what the drives do.

Of each drive the first rounds of iops, tp and lat are run, and a twin is fitted to them. Then WSAT, XSR
and HIR, which the fit has not seen, are run on the drive and predicted: rates, p99 and p99.9 of each load
and each measure. A prediction is compared with the median of runs of the drive with other seeds (three of
WSAT, whose tails scatter most, else two), and its interval with the first of them; beside it is shown by how
much the second differs from the first.
XSR has a quarter of its times. HIR has accesses and idle times of 60 s in place of 5 s, so that they
contain what settles in them at these scales, and so 10 of them for 360. A line for each drive and for
each test of it, at the end a table over all drives; the log of the runs is on stderr.

    .venv/bin/python -m benches.twin [--families enterprise,industrial] [--drives 5] [--seed 1] 2>/dev/null
"""

import argparse
import tomllib
from collections import defaultdict
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benches.drawn_drives import Drawn, draw

from openpts.api import run_test
from openpts.errors import RunFailedError
from openpts.record.reader import Run
from openpts_twin.twin.fit import fit
from openpts_twin.twin.parameters import value_of
from openpts_twin.twin.predict import predict, quantities
from openpts_twin.twin.twin_file import read_fit

SEEN = ("iops", "tp", "lat")
UNSEEN = {
    "wsat": (),
    "xsr": ("--time-scale", "1/4"),
    "hir": ("--access-seconds", "60", "--idle-seconds", "60", "--cycles", "10"),
}
# simulated parts of 4 to 8 GB; halved for a drive whose tests refuse that
SCALES = {"enterprise": 290, "client": 130, "industrial": 16}
HALVED = 2
CLASSES = {"client": ("--class", "client")}
KINDS = ("rate", "p99", "p99.9", "course")
OUTLYING_PCT = 10
TRUE_SEEDS, TWIN_SEED = ("7", "9", "11"), "8"


class Compared(NamedTuple):
    """By how much a prediction is off, whether its interval holds a run, and how far another is from that."""

    error_pct: float
    is_held: bool
    by_chance_pct: float


class Bench(NamedTuple):
    """A drive, where its runs are kept, and how they are made."""

    drive: Drawn
    folder: Path
    scale: int

    def run(self, test: str, *words: str, name: str) -> Run:
        """A run of the drive."""
        target = self.drive.target(scale=self.scale)
        return run_test(test, target, *self.words(), *words, out=self.folder / name)

    def words(self) -> tuple[str, ...]:
        """Options of every run."""
        return CLASSES.get(self.drive.family, ())

    def seen(self) -> list[Run]:
        """First rounds of the tests that a fit sees."""
        return [
            self.run(test, "--seed", "1", "--max-rounds", "1", name=f"{test}-{self.scale}") for test in SEEN
        ]

    def twin(self, runs: list[Run]) -> Path:
        """The drive's twin; a line of how."""
        began = _processor_s()
        twin = fit(runs, name="twin", like=None, scale=None, tell=lambda _: None)
        took_s = _processor_s() - began
        path = self.folder / "twin.toml"
        path.write_text(twin.preset, encoding="utf-8")
        path.with_suffix(".fit.toml").write_text(twin.fit, encoding="utf-8")
        content = tomllib.loads(twin.preset)
        wrong = [
            f"{name.split('.', 1)[1]} {value_of(content, name)} for {value}"
            for name, value in self.drive.drawn.items()
            if not _near(value_of(content, name), value)
        ]
        left = ", ".join(f"{kind} {100 * twin.found.errors.get(kind, 0):.1f} %" for kind in KINDS)
        print(
            f"{self.drive.path.stem} (scale {self.scale}): like {twin.like}, "
            f"{twin.found.trials} replays in {took_s:.0f} s; left {left}; "
            f"off by more than 10 %: {', '.join(wrong) or 'none'}",
            flush=True,
        )
        return path

    def compared(self, test: str, twin: Path) -> dict[str, list[Compared]]:
        """Predictions of a test beside the truth by kind of figure; a line of it."""
        words = (*UNSEEN[test], "--seed")
        seeds = TRUE_SEEDS[: 3 if test == "wsat" else 2]
        runs = [self.run(test, *words, seed, name=test + seed) for seed in seeds]
        shown = [quantities(run) for run in runs]
        predictions = predict(
            test,
            str(twin),
            (*self.words(), *words, TWIN_SEED),
            self.folder / f"{test}-twin",
            fit=read_fit(twin),
            scale=self.scale,
            against=runs[0],
            tell=lambda _: None,
        )
        found: dict[str, list[Compared]] = defaultdict(list)
        for one in predictions:
            if all(one.key in each for each in shown) and shown[0][one.key].kind in KINDS:
                quantity, *_ = known = [each[one.key] for each in shown]
                error_pct = quantity.error_pct(one.value, median(each.value for each in known))
                by_chance_pct = quantity.error_pct(known[1].value, quantity.value)
                if error_pct is not None and by_chance_pct is not None:
                    assert one.low is not None
                    assert one.high is not None
                    is_held = one.low <= quantity.value <= one.high
                    found[quantity.kind].append(Compared(error_pct, is_held, by_chance_pct))
                    if abs(error_pct) > OUTLYING_PCT or not is_held:
                        values = ", ".join(f"{each.value:.4g}" for each in known)
                        print(
                            f"    {one.key}: {one.value:.4g} ({one.low:.4g} to {one.high:.4g}) for {values}",
                            flush=True,
                        )
        print(f"  {test} " + "; ".join(f"{kind} {_words(found[kind])}" for kind in KINDS), flush=True)
        return found


def _words(values: list[Compared]) -> str:
    if not values:
        return "none"
    median_pct, worst_pct, chance_pct, held = _figures(values)
    return f"{median_pct} (worst {worst_pct}, another seed {chance_pct}), held {held}"


def _figures(values: list[Compared]) -> tuple[str, str, str, str]:
    """Median and worst error, the median that chance has, and what intervals held."""
    errors = [one.error_pct for one in values]
    return (
        f"{median(map(abs, errors)):.1f} %",
        f"{max(errors, key=abs):+.0f} %",
        f"{median(abs(one.by_chance_pct) for one in values):.1f} %",
        f"{sum(one.is_held for one in values)} of {len(values)}",
    )


def _print_table(every: dict[tuple[str, str, str], list[Compared]]) -> None:
    print(
        "\n| Family | Test | Figures | Median error | Worst | Another seed | Held |\n"
        "|---|---|---|---|---|---|---|"
    )
    for key, values in every.items():
        print(f"| {' | '.join((*key, *_figures(values)))} |")
    held = [one.is_held for values in every.values() for one in values]
    print(f"\nintervals held {sum(held)} of {len(held)} ({100 * sum(held) / max(1, len(held)):.1f} %)")


def _begun(drive: Drawn, folder: Path, scale: int) -> tuple[Bench, list[Run]]:
    """The bench of a drive with its first runs, at the scale or at one that no test refuses."""
    for _ in range(HALVED):
        bench = Bench(drive, folder, scale)
        try:
            return bench, bench.seen()
        except RunFailedError:
            scale //= 2
    bench = Bench(drive, folder, scale)
    return bench, bench.seen()


def _processor_s() -> float:
    """Processor time so far, with that of runs that have ended."""
    return sum(one.ru_utime + one.ru_stime for one in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def _near(found: object, true: object) -> bool:
    if isinstance(found, int | float) and isinstance(true, int | float) and not isinstance(true, bool):
        return abs(found - true) <= 0.1 * abs(true)
    return found == true


def main() -> None:
    """Print a line for each drive and test, and a table over all drives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(SCALES))
    parser.add_argument("--drives", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int)
    parser.add_argument("--tests", default=",".join(UNSEEN))
    options = parser.parse_args()
    every: dict[tuple[str, str, str], list[Compared]] = defaultdict(list)
    for family in options.families.split(","):
        for seed in range(options.seed, options.seed + options.drives):
            with TemporaryDirectory() as place:
                began = _processor_s()
                drive = draw(family, seed, Path(place))
                try:
                    bench, runs = _begun(drive, Path(place), options.scale or SCALES[family])
                    twin = bench.twin(runs)
                    for test in options.tests.split(","):
                        for kind, values in bench.compared(test, twin).items():
                            every[family, test, kind] += values
                except Exception as error:  # noqa: BLE001 a failure is a line of the table
                    print(f"{family}-{seed}: FAILED: {error}", flush=True)
                print(f"  in {_processor_s() - began:.0f} s of processor time", flush=True)
    _print_table(every)


if __name__ == "__main__":
    main()
