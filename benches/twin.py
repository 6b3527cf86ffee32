"""What twins of drives that are drawn predict, beside what the drives do.

Of each drive iops, tp and lat are run, and a twin is fitted to them. Then HIR, XSR and WSAT, which the fit
has not seen, are run on the drive and predicted: rates, p99 and p99.9 of each load and each measure, and how
often the interval of a prediction holds what the drive did.

    .venv/bin/python -m benches.twin [--families enterprise,industrial] [--drives 5] [--seed 1] [--scale 290]
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
from openpts_twin.twin.fit import Twin, fit
from openpts_twin.twin.parameters import value_of
from openpts_twin.twin.predict import predict, quantities
from openpts_twin.twin.twin_file import read_fit

SEEN, UNSEEN = ("iops", "tp", "lat"), ("wsat", "xsr", "hir")
SCALES = {"enterprise": 290, "client": 43, "industrial": 8}
KINDS = ("rate", "p99", "p99.9")


def twin_of(drive: Drawn, folder: Path, scale: int) -> tuple[Path, Twin]:
    """The drive's twin, fitted to short runs."""
    runs = [
        run_test(test, drive.target(scale=scale), "--seed", "1", out=folder / f"{drive.path.stem}-{test}")
        for test in SEEN
    ]
    twin = fit(runs, name=f"twin-of-{drive.path.stem}", like=None, scale=None, tell=lambda _: None)
    path = folder / f"{drive.path.stem}-twin.toml"
    path.write_text(twin.preset, encoding="utf-8")
    path.with_suffix(".fit.toml").write_text(twin.fit, encoding="utf-8")
    return path, twin


class Compared(NamedTuple):
    """What the twin shows instead of what the drive does, as a share, and whether the interval holds that."""

    error: float
    is_held: bool


def compared(
    drive: Drawn, folder: Path, scale: int, tests: list[str]
) -> dict[tuple[str, str], list[Compared]]:
    """Predictions beside the truth by test and kind of figure; a line for each test."""
    began = time.process_time()
    path, twin = twin_of(drive, folder, scale)
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    wrong = [
        f"{name.split('.', 1)[1]} {value_of(content, name)} for {value}"
        for name, value in drive.drawn.items()
        if not _near(value_of(content, name), value)
    ]
    took_s = time.process_time() - began
    print(f"{drive.path.stem}: like {twin.like}, {twin.found.trials} replays, {took_s:.0f} s", flush=True)
    print(f"  parameters off by more than 10 %: {'; '.join(wrong) or 'none'}", flush=True)
    found: dict[tuple[str, str], list[Compared]] = defaultdict(list)
    known = read_fit(path)
    assert known is not None
    for test in tests:
        stem = folder / f"{drive.path.stem}-{test}"
        truth = run_test(test, drive.target(scale=scale), "--seed", "7", out=Path(f"{stem}-truth"))
        kinds = {key: one.kind for key, one in quantities(truth).items()}
        predictions = predict(
            test,
            str(path),
            ("--seed", "8"),
            Path(f"{stem}-twin"),
            fit=known,
            scale=scale,
            against=truth,
            tell=lambda _: None,
        )
        for one in predictions:
            if one.measured and kinds[one.key] in KINDS:
                assert one.low is not None
                assert one.high is not None
                is_held = one.low <= one.measured <= one.high
                found[test, kinds[one.key]].append(Compared(one.value / one.measured - 1, is_held))
        print(f"  {test}: {'; '.join(_words(kind, found[test, kind]) for kind in KINDS)}", flush=True)
    return found


def _words(kind: str, values: list[Compared]) -> str:
    if not values:
        return f"no {kind}"
    errors = [one.error for one in values]
    return (
        f"{kind} {100 * median(map(abs, errors)):.1f} % (worst {100 * max(errors, key=abs):+.0f}), "
        f"{sum(one.is_held for one in values)} of {len(values)} held"
    )


def _near(found: object, true: object) -> bool:
    if isinstance(found, int | float) and isinstance(true, int | float) and not isinstance(true, bool):
        return abs(found - true) <= 0.1 * abs(true)
    return found == true


def main() -> None:
    """Print a line for each drive and test, and the medians over all drives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default="enterprise,industrial,client")
    parser.add_argument("--drives", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int)
    parser.add_argument("--tests", default=",".join(UNSEEN))
    options = parser.parse_args()
    for family in options.families.split(","):
        every: dict[tuple[str, str], list[Compared]] = defaultdict(list)
        for seed in range(options.seed, options.seed + options.drives):
            with TemporaryDirectory() as place:
                drive = draw(family, seed, Path(place))
                scale = options.scale or SCALES[family]
                try:
                    found = compared(drive, Path(place), scale, options.tests.split(","))
                except Exception as error:  # noqa: BLE001 a failure is a line of the table
                    print(f"{family}-{seed}: FAILED: {error}", flush=True)
                    continue
            for key, values in found.items():
                every[key] += values
        for (test, kind), values in sorted(every.items()):
            print(f"{family} {test}: median error {_words(kind, values)}", flush=True)


if __name__ == "__main__":
    main()
