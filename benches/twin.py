"""What twins of drives that are drawn predict, beside what the drives do.

Of each drive iops, tp and lat are run, and a twin is fitted to them. Then HIR, XSR and WSAT, which the fit
has not seen, are run on drive and twin: rates, p99 and p99.9 of each load and each measure.

    .venv/bin/python -m benches.twin [--families enterprise,industrial] [--drives 5] [--seed 1] [--scale 290]
"""

import argparse
import time
import tomllib
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benches.drawn_drives import Drawn, draw

from openpts.api import run_test
from openpts_twin.twin.fit import Twin, fit
from openpts_twin.twin.parameters import value_of
from openpts_twin.twin.predict import quantities, target_of
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


def compared(drive: Drawn, folder: Path, scale: int, tests: list[str]) -> dict[tuple[str, str], list[float]]:
    """Errors of the twin's predictions by test and kind of figure; a line for each test."""
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
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    assert read_fit(path) is not None
    for test in tests:
        stem = folder / f"{drive.path.stem}-{test}"
        truth = quantities(
            run_test(test, drive.target(scale=scale), "--seed", "7", out=Path(f"{stem}-truth"))
        )
        shown = quantities(
            run_test(test, target_of(str(path), scale, {}), "--seed", "8", out=Path(f"{stem}-twin"))
        )
        for key, quantity in truth.items():
            if quantity.kind in KINDS and quantity.value and key in shown:
                found[test, quantity.kind].append(shown[key].value / quantity.value - 1)
        words = "; ".join(
            f"{kind} {100 * median(map(abs, found[test, kind])):.1f} % "
            f"(worst {100 * max(found[test, kind], key=abs):+.0f})"
            for kind in KINDS
            if found[test, kind]
        )
        print(f"  {test}: median error {words}", flush=True)
    return found


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
        errors: dict[tuple[str, str], list[float]] = defaultdict(list)
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
                errors[key] += values
        for (test, kind), values in sorted(errors.items()):
            middle = 100 * median(map(abs, values))
            print(f"{family} {test} {kind}: median error {middle:.1f} % of {len(values)} figures", flush=True)


if __name__ == "__main__":
    main()
