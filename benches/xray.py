"""X-rays of simulated drives that are drawn, beside the truth about them.

Printed are right and wrong answers, and how many drives are left open, as a table with a
row for each property, and what was wrong. A cache is right within 2 %, over-provisioning within 1 point of
the user capacity; all else has to be exact. With --keep, outcomes are kept in a file, and drives that are in
it are not run again: slices of seeds make one table. With --noise, what is read of each run is looked at
again with so much noise in each window of writes, as a standard deviation; pairs of reads are left as they
are, as the distances that a search asks for follow from those before.

    .venv/bin/python -m benches.xray [--families enterprise,client] [--drives 4] [--seed N] [--keep FILE]
        [--noise 2,5]
"""

import argparse
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec
from benches.drawn_drives import FAMILIES, Drawn, draw
from msgspec import Struct
from msgspec.structs import replace

from openpts.record.reader import Run, read_run
from openpts_twin.findings import Finding, Value
from openpts_twin.rates import Window, first_fall
from openpts_twin.xray.properties import findings_of
from openpts_twin.xray.report import LABELS
from openpts_twin.xray.results import Probe, XrayRun, xray_run

SCALES = {"enterprise": 48, "coarse-map": 48, "client": 16, "industrial": 2, "log-block": 2, "reduction": 8}
TOLERANCES = {
    "cache_bytes": 0.02,
    "cache_half_full_bytes": 0.02,
    "page_mapped.mapping.physical_per_user": 0.01,
    "throttles_from_c": 2,
}
IDLE_STICKS = 0.5
_RELATIVE = {"cache_bytes", "cache_half_full_bytes"}


class Outcome(Struct, frozen=True):
    """What became of a property of a drive, or of the run itself, and the answer about it."""

    family: str
    seed: int
    name: str
    outcome: Literal["right", "wrong", "can't tell"]
    told: str


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


def collected(family: str, seed: int) -> dict[str, object]:
    """What drives of a family have alike, drawn by a chance of its own: pace, frontiers, a client's map, and
    whether a stick collects in idle time.
    """
    if family == "log-block":
        return {}
    chance = random.Random(f"collection {family} {seed}")
    drawn: dict[str, object] = {
        "page_mapped.collection.pace": chance.choice(["paced", "paced", "burst"]),
        "page_mapped.collection.frontiers": chance.choice(["separate", "mixed"]),
    }
    if family == "client":
        drawn["page_mapped.mapping.unit_pages"] = chance.choice([1, 1, 2, 4])
    if family == "industrial" and chance.random() < IDLE_STICKS:
        drawn["page_mapped.idle"] = {"delay_ms": 1000.0, "free_target_share": 0.05, "most_valid_share": 0.9}
    return drawn


def looked_at(drive: Drawn, place: Path, noises_pct: Iterable[float]) -> Iterator[Outcome]:
    """What became of each finding, and of those with noise."""
    try:
        run = xray(drive, place / f"{drive.family}-{drive.seed}")
    except subprocess.CalledProcessError as error:
        yield Outcome(drive.family, drive.seed, "The run", "wrong", error.stderr.decode())
        return
    true, found = truth(drive, run), xray_run(run)
    yield from outcomes_of(drive, drive.family, findings_of(found), true)
    for noise_pct in noises_pct:
        chance = random.Random(f"noise {noise_pct} {drive.family} {drive.seed}")
        findings = findings_of(with_noise(found, noise_pct / 100, chance))
        yield from outcomes_of(drive, f"{drive.family}, {noise_pct:g} %", findings, true)


def outcomes_of(
    drive: Drawn, column: str, findings: Iterable[Finding], true: dict[str, Value]
) -> Iterator[Outcome]:
    """Findings beside the truth."""
    for one in findings:
        outcome: Literal["right", "wrong", "can't tell"] = "can't tell"
        if one.is_told:
            outcome = "right" if is_right(one, true.get(one.name)) else "wrong"
        told = f"{one.value} and not {true.get(one.name)}; {one.evidence}"
        yield Outcome(column, drive.seed, one.name, outcome, told)


def with_noise(found: XrayRun, spread: float, chance: random.Random) -> XrayRun:
    """The measurements, with the time of each window of writes times lognormal noise."""

    def noisy(windows: list[Window]) -> list[Window]:
        return [replace(one, elapsed_ns=one.elapsed_ns * chance.lognormvariate(0, spread)) for one in windows]

    def of_passes(passes: list[list[Probe]]) -> list[list[Probe]]:
        return [[replace(one, written=noisy([one.written])[0]) for one in each] for each in passes]

    fill = noisy(found.fill)
    courses = {
        name: noisy(getattr(found, name)) for name in ("after_rest", "random", "bursts", "again", "hot")
    }
    aligned = {name: of_passes(getattr(found, name)) for name in ("aligned", "aligned_purged")}
    return replace(found, fill=fill, cache=first_fall(fill), **courses, **aligned)


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Right / wrong / can't tell, in Markdown, and what was wrong."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    drives: dict[str, set[int]] = {}
    wrong = []
    for one in outcomes:
        drives.setdefault(one.family, set()).add(one.seed)
        counts.setdefault(one.name, {}).setdefault(one.family, Counter())[one.outcome] += 1
        if one.outcome == "wrong":
            wrong.append(f"- {one.family} {one.seed}: {LABELS.get(one.name, one.name)}: {one.told}")
    yield "| Property | " + " | ".join(f"{name}, {len(seeds)}" for name, seeds in drives.items()) + " |"
    yield "|---|" + "---|" * len(drives)
    for name, of_families in counts.items():
        cells = (of_families.get(family) for family in drives)
        words = (
            "-" if cell is None else " / ".join(str(cell[word]) for word in ("right", "wrong", "can't tell"))
            for cell in cells
        )
        yield f"| {LABELS.get(name, name)} | " + " | ".join(words) + " |"
    yield from ("", "Wrong:" if wrong else "None is wrong.", *wrong)


def main() -> None:
    """Run what is not kept yet, and print the table of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--drives", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--noise", default="")
    options = parser.parse_args()
    noises_pct = [float(one) for one in options.noise.split(",") if one]
    kept: list[Outcome] = []
    if options.keep is not None and options.keep.exists():
        kept = msgspec.json.Decoder(Outcome).decode_lines(options.keep.read_bytes())
    done = {(one.family, one.seed) for one in kept}
    for seed in range(options.seed, options.seed + options.drives):
        for family in options.families.split(","):
            if (family, seed) in done:
                continue
            with TemporaryDirectory() as place:
                drive = draw(family, seed, Path(place), collected(family, seed))
                outcomes = list(looked_at(drive, Path(place), noises_pct))
            kept += outcomes
            if options.keep is not None:
                with options.keep.open("ab") as file:
                    file.write(msgspec.json.Encoder().encode_lines(outcomes))
    print("\n".join(table(kept)))


if __name__ == "__main__":
    main()
