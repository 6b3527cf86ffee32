"""X-rays of simulated drives that are drawn, beside the truth about them.

Printed are a line for each property that is wrong, and for each property how many drives were told right and
wrong, and of how many it can't be told. A cache is right within 2 %, over-provisioning within 1 point of the
user capacity; all else has to be exact.

    .venv/bin/python -m benches.xray [--families enterprise,client] [--drives 4] [--seed N]
"""

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.drawn_drives import FAMILIES, Drawn, draw

from openpts.record.reader import Run, read_run
from openpts_twin.findings import Finding, Value
from openpts_twin.xray.results import findings_of, xray_run

SCALES = {"enterprise": 48, "coarse-map": 48, "client": 16, "industrial": 2, "log-block": 2, "reduction": 8}
TOLERANCES = {
    "cache_bytes": 0.02,
    "cache_half_full_bytes": 0.02,
    "page_mapped.mapping.physical_per_user": 0.01,
    "write_buffer_bytes": 0.15,
    "throttles_from_c": 2,
}
_RELATIVE = {"cache_bytes", "cache_half_full_bytes", "write_buffer_bytes"}


def cache_bytes(geometry: dict[str, float], slc: dict[str, Any] | None, mapped: float, capacity: int) -> int:
    """What the cache takes in at one go, with so much of the drive in use, superblock by superblock."""
    if slc is None:
        return 0
    user, pages = int(geometry["user_pages"]), int(geometry["superblock_pages"])
    cached = int(geometry["slc_superblock_pages"])
    always = round(slc["static_share"] * geometry["superblocks"])
    share, count = round(slc["dynamic_share"] * 65536), 0
    while count < always + int((user * (1 - mapped) - count * cached) * share) // pages // 65536:
        count += 1
    return round(count * cached / user * capacity)


def truth(drive: Drawn, run: Run) -> dict[str, Value]:
    """The properties by the drive's file, and by the geometry that follows from it."""
    model = drive.content.get("page_mapped")
    if model is None:
        return {"read_ahead": False}
    facts = run.manifest.engine
    geometry = {
        name.removeprefix("geometry_"): float(fact.value or "nan")
        for name, fact in facts.items()
        if name.startswith("geometry_")
    }
    victim, slc, idle = model["collection"]["victim"], model.get("slc"), model.get("idle")
    capacity = run.manifest.target.user_capacity_bytes
    return {
        "cache_bytes": cache_bytes(geometry, slc, 0, capacity),
        "cache_half_full_bytes": cache_bytes(geometry, slc, 0.5, capacity),
        "cache_policy": "dynamic" if slc and slc["dynamic_share"] else "static",
        "page_mapped.idle.folds": bool(idle and idle.get("folds")),
        "page_mapped.mapping.physical_per_user": geometry["physical_per_user"],
        "page_mapped.mapping.unit_pages": model["mapping"].get("unit_pages", 1),
        "page_mapped.geometry.chunk_pages": model["geometry"]["chunk_pages"],
        "page_mapped.geometry.dies": int(geometry["dies"]),
        "page_mapped.collection.victim": victim if isinstance(victim, str) else "choices",
        "page_mapped.collection.pace": model["collection"]["pace"],
        "page_mapped.collection.frontiers": model["collection"]["frontiers"],
        "write_buffer_bytes": model["write_buffer"]["program_units_per_die"]
        * int(geometry["dies"])
        * model["geometry"]["program_unit_pages"]
        * 4096,
        "throttles_from_c": model["thermal"]["throttle"][0]["from_c"] if "thermal" in model else None,
        "collects_in_idle": idle is not None,
        "read_ahead": False,
    }


def is_right(one: Finding, true: Value | None) -> bool:
    """Whether a value is within its tolerance; a property that the drive's model has not is never right."""
    if one.name not in TOLERANCES or isinstance(true, str | None) or isinstance(one.value, str | None):
        return one.value == true
    error = abs(one.value - true)
    return error <= TOLERANCES[one.name] * (true if one.name in _RELATIVE else 1)


def xray(drive: Drawn, folder: Path) -> Run:
    """The test, as its user starts it."""
    target = drive.target(scale=SCALES[drive.family])
    command = [sys.executable, "-m", "openpts", "run", "xray", target, "--out", str(folder), "--no-report"]
    subprocess.run(command, check=True, capture_output=True)
    return read_run(folder)


def collected(family: str, seed: int) -> dict[str, str]:
    """Pace and frontiers, which drives of the families have alike, drawn by a chance of their own."""
    if family == "log-block":
        return {}
    chance = random.Random(f"collection {family} {seed}")
    return {
        "page_mapped.collection.pace": chance.choice(["paced", "paced", "burst"]),
        "page_mapped.collection.frontiers": chance.choice(["separate", "mixed"]),
    }


def looked_at(drive: Drawn, place: Path) -> Iterator[tuple[Finding, str]]:
    """Each finding, and what became of it."""
    run = xray(drive, place / f"{drive.family}-{drive.seed}")
    true = truth(drive, run)
    for one in findings_of(xray_run(run)):
        outcome = (
            "can't tell" if one.value is None else "right" if is_right(one, true.get(one.name)) else "wrong"
        )
        if outcome == "wrong":
            told = f"{one.name} {one.value} and not {true.get(one.name)}; {one.evidence}"
            print(f"  {drive.family} {drive.seed}: {told}")
        yield one, outcome


def main() -> None:
    """Print what is wrong, then a line for each property."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--drives", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for family in options.families.split(","):
        counts: dict[str, Counter[str]] = {}
        begun = time.monotonic()
        with TemporaryDirectory() as place:
            for seed in range(options.seed, options.seed + options.drives):
                for one, outcome in looked_at(
                    draw(family, seed, Path(place), collected(family, seed)), Path(place)
                ):
                    counts.setdefault(one.name, Counter())[outcome] += 1
        print(f"{family}, {options.drives} drives, {(time.monotonic() - begun) / options.drives:.0f} s each")
        for name, found in counts.items():
            print(
                f"  {name}: "
                + ", ".join(f"{found[word]} {word}" for word in ("right", "wrong", "can't tell"))
            )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
