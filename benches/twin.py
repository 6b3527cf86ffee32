"""What twins of drives that are drawn predict, beside what the drives do.

Of each drive the first rounds of iops, tp and lat are run, and a twin is fitted to them. Then WSAT, XSR
and HIR, which the fit has not seen, are run on the drive and predicted: rates, p99 and p99.9 of each load
and each measure, and how often the interval of a prediction holds what the drive did. What the drive itself
does with another seed is shown beside it: no twin comes nearer. A line for each drive and for each test of
it, at the end a table over all drives; the log of the runs is on stderr.

    .venv/bin/python -m benches.twin [--families enterprise,industrial] [--drives 5] [--seed 1] 2>/dev/null
"""

import argparse
import time
import tomllib
from collections import defaultdict
from pathlib import Path
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

SEEN, UNSEEN = ("iops", "tp", "lat"), ("wsat", "xsr", "hir")
# simulated parts of 4 to 8 GB; halved for a drive whose tests refuse that
SCALES = {"enterprise": 290, "client": 130, "industrial": 8}
HALVED = 2
CLASSES = {"client": ("--class", "client")}
KINDS = ("rate", "p99", "p99.9")
TRUTH, OTHER, TWIN = (("--seed", str(seed)) for seed in (7, 9, 8))


class Compared(NamedTuple):
    """What the twin shows instead of what the drive does, as a share, whether the interval holds that, and
    what the drive shows with another seed.
    """

    error: float
    is_held: bool
    by_chance: float | None


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
        began = time.process_time()
        twin = fit(runs, name="twin", like=None, scale=None, tell=lambda _: None)
        took_s = time.process_time() - began
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
        truth, other = (self.run(test, *seed, name=test + seed[1]) for seed in (TRUTH, OTHER))
        known, again = quantities(truth), quantities(other)
        predictions = predict(
            test,
            str(twin),
            (*self.words(), *TWIN),
            self.folder / f"{test}-twin",
            fit=read_fit(twin),
            scale=self.scale,
            against=truth,
            tell=lambda _: None,
        )
        found: dict[str, list[Compared]] = defaultdict(list)
        for one in predictions:
            if one.measured and known[one.key].kind in KINDS:
                assert one.low is not None
                assert one.high is not None
                by_chance = again[one.key].value / one.measured - 1 if one.key in again else None
                is_held = one.low <= one.measured <= one.high
                found[known[one.key].kind].append(Compared(one.value / one.measured - 1, is_held, by_chance))
        words = "; ".join(f"{kind} {_words(found[kind])}" for kind in KINDS)
        print(f"  {test} {words}", flush=True)
        return found


def _words(values: list[Compared]) -> str:
    if not values:
        return "none"
    median_pct, worst_pct, chance_pct, held = _figures(values)
    return f"{median_pct} (worst {worst_pct}, another seed {chance_pct}), held {held}"


def _figures(values: list[Compared]) -> tuple[str, str, str, str]:
    """Median and worst error, the median that chance has, and what intervals held."""
    errors = [one.error for one in values]
    chance = [abs(one.by_chance) for one in values if one.by_chance is not None]
    return (
        f"{100 * median(map(abs, errors)):.1f} %",
        f"{100 * max(errors, key=abs):+.0f} %",
        f"{100 * median(chance):.1f} %" if chance else "",
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
                drive = draw(family, seed, Path(place))
                try:
                    bench, runs = _begun(drive, Path(place), options.scale or SCALES[family])
                    twin = bench.twin(runs)
                    for test in options.tests.split(","):
                        for kind, values in bench.compared(test, twin).items():
                            every[family, test, kind] += values
                except Exception as error:  # noqa: BLE001 a failure is a line of the table
                    print(f"{family}-{seed}: FAILED: {error}", flush=True)
    _print_table(every)


if __name__ == "__main__":
    main()
