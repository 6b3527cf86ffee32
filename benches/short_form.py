"""The short form of IOPS and latency tests against the test at full length, on simulated drives that are drawn.

A drive is a preset of which over-provisioning, collection, flash and buffer are drawn; the short form has to find
the first of these by itself. Shown are each key value's error, whether the interval printed has it, and what was
written. Drives of other kinds (fast caches, logs of blocks) follow: there the short form has to go on at full
length.

    .venv/bin/python -m benches.short_form [--drives 20] [--seed N] [--tests iops]
"""

import argparse
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from openpts.record.reader import read_run
from openpts.report.summary import summarize
from openpts.vocabulary.phase import Phase

PRESET = files("openpts.simulation") / "presets" / "enterprise-tlc.toml"
OTHERS = ("tlc", "client-qlc", "pslc", "log-block")


def drawn(seed: int, folder: Path) -> Path:
    """A drive of the kind that the short form assumes."""
    chance = random.Random(seed)
    text = PRESET.read_text(encoding="utf-8").split("[[figures]]")[0]
    changes = {
        "name": f'"drawn-{seed}"',
        "physical_per_user": round(chance.uniform(1.06, 1.45), 3),
        "victim": chance.choice(['"greedy"', '"fifo"', "{ choices = 8 }"]),
        "dies": chance.choice([32, 64]),
        "read_us": round(62 * chance.uniform(0.7, 1.5), 1),
        "program_us": round(2880 * chance.uniform(0.6, 1.6), 1),
        "program_units_per_die": chance.choice([1, 2]),
    }
    for key, value in changes.items():
        text = re.sub(rf"^{key} = .*?$", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
    path = folder / f"drawn-{seed}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def run(test: str, target: str, folder: Path, seed: int, *words: str) -> Path:
    """A run of the test, as its user starts it."""
    command = [sys.executable, "-m", "openpts", "run", test, target, "--out", folder, "--seed", str(seed)]
    subprocess.run([*command, "--no-report", *words], check=False, capture_output=True)
    return folder


def written(folder: Path) -> float:
    """User capacities written."""
    run = read_run(folder)
    return sum(step.sample.write.bytes for step in run.steps) / run.manifest.target.user_capacity_bytes


def pairs(short: Path, full: Path) -> Iterator[tuple[str, float, float, float | None]]:
    """Name, value in short, at full length, and the expanded uncertainty of the short one."""
    ours, theirs = (summarize(read_run(folder))["measures"] for folder in (short, full))
    for name, one in ours.items():
        other = theirs.get(name, {}).get("value")
        if one.get("value") and other and one.get("uncertainty"):
            yield name, one["value"], other, one["uncertainty"]["expanded"]


def main() -> None:
    """Print a line for each drive, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", default="iops")
    options = parser.parse_args()
    for test in options.tests.split(","):
        errors: dict[str, list[tuple[float, bool]]] = {}
        with TemporaryDirectory() as place:
            for seed in range(options.seed, options.seed + options.drives):
                target = f"sim:{drawn(seed, Path(place))}"
                short = run(test, target, Path(place) / f"{test}-{seed}-short", seed, "--short")
                full = run(test, target, Path(place) / f"{test}-{seed}-full", seed)
                steps = read_run(short).phase(Phase.ROUND)
                at_full_length = steps[0].sample.elapsed_ns > 30e9
                found = list(pairs(short, full))
                for name, value, other, expanded in found:
                    error = value / other - 1
                    errors.setdefault(name, []).append(
                        (error, expanded is not None and abs(value - other) <= expanded)
                    )
                print(
                    seed,
                    test,
                    f"wrote {written(short):.2f} and {written(full):.2f}",
                    at_full_length,
                    " ".join(
                        f"{name} {100 * (value / other - 1):+.1f}%/{100 * (expanded or 0) / value:.1f}"
                        for name, value, other, expanded in found
                    ),
                    flush=True,
                )
        for name, rows in errors.items():
            print(
                name,
                f"median error {100 * median(abs(error) for error, _ in rows):.1f} %, within {sum(held for _, held in rows)} of {len(rows)}",
            )


if __name__ == "__main__":
    main()
