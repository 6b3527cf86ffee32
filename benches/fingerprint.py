"""Fingerprints of simulated drives: pairs that differ in one part, and pairs of the same drive.

Of each drawn drive the fingerprint is taken, then with other seeds and an ambient temperature 20 K higher,
and with one part changed at a time. Pairs are formed within a drive. Shown are the area under the curve,
false alarms at the limit that `openpts fingerprint` has, and each pair that is told wrongly.

    .venv/bin/python -m benches.fingerprint [--drives 4] [--first 1] [--families client] [--keep FILE]
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.drawn_drives import Drawn, draw
from click.testing import CliRunner

from openpts.cli.run import run
from openpts.record.reader import read_run
from openpts_twin.fingerprint.features import FARTHEST_ALIKE, Comparison, compared, fingerprint_of

SCALES = {"enterprise": 48, "client": 48, "industrial": 8}


def value(content: Mapping[str, Any], name: str) -> Any:
    for word in name.split("."):
        content = content[word]
    return content


def nuisances(drive: Drawn) -> Iterator[tuple[str, dict[str, object], dict[str, object]]]:
    """What makes no other drive: changes of the file, and words of the target."""
    yield "first", {}, {}
    yield "seed", {}, {"seed": 7}
    if "thermal" in drive.content["page_mapped"]:
        ambient_c = value(drive.content, "page_mapped.thermal.ambient_c")
        yield "+20 K", {"page_mapped.thermal.ambient_c": ambient_c + 20}, {"seed": 8}
    yield "again", {}, {"seed": 9}


def parts(drive: Drawn, chance: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """One part changed at a time."""

    def scaled(name: str, factor: float) -> dict[str, object]:
        found = value(drive.content, name) * factor
        return {name: round(found, 3)}

    yield "read time", scaled("page_mapped.nand.read_us", chance.choice([0.8, 1.25]))
    yield "program time", scaled("page_mapped.nand.program_us", chance.choice([0.8, 1.25]))
    yield "controller", scaled("page_mapped.controller.fixed_read_us", chance.choice([0.7, 1.4]))
    physical = value(drive.content, "page_mapped.mapping.physical_per_user")
    yield (
        "spare flash",
        {"page_mapped.mapping.physical_per_user": round(physical + chance.choice([0.05, 0.1]), 3)},
    )
    geometry = drive.content["page_mapped"]["geometry"]
    if "bytes_per_die" in geometry:
        yield "dies", {"page_mapped.geometry.bytes_per_die": geometry["bytes_per_die"] // 2}
    else:
        yield "dies", {"page_mapped.geometry.dies": geometry["dies"] * 2}
    buffer = drive.content["page_mapped"].get("write_buffer", {})
    if "program_units_per_die" in buffer:
        yield (
            "buffer",
            {"page_mapped.write_buffer.program_units_per_die": buffer["program_units_per_die"] * 2},
        )
    if "slc" in drive.content["page_mapped"]:
        share = value(drive.content, "page_mapped.slc.static_share")
        yield "cache", {"page_mapped.slc.static_share": round(min(0.1, share * 1.5), 3)}


def taken(family: str, seed: int, changes: Mapping[str, object], words: Mapping[str, object]) -> Any:
    """The fingerprint of a drive; in words what went wrong."""
    with TemporaryDirectory() as work:
        drive = draw(family, seed, Path(work), changes)
        target = drive.target(**{"scale": SCALES[family], **words})
        out = Path(work) / "run"
        ended = CliRunner().invoke(
            run, ["fingerprint", target, "--out", str(out), "--no-report"], standalone_mode=False
        )
        if ended.exception is not None:
            return str(ended.exception)
        return dict(fingerprint_of(read_run(out)))


def measured(family: str, seed: int) -> Iterator[tuple[str, str, Any]]:
    with TemporaryDirectory() as work:
        drive = draw(family, seed, Path(work))
    for name, changes, words in nuisances(drive):
        yield "same", name, taken(family, seed, changes, words)
    for number, (name, changes) in enumerate(parts(drive, random.Random(f"{family}{seed}")), start=20):
        yield "other", name, taken(family, seed, changes, {"seed": number})


def area(same: list[float], other: list[float]) -> float:
    wins = sum((b > a) + 0.5 * (b == a) for a in same for b in other)
    return wins / (len(same) * len(other))


Pairs = Iterator[tuple[str, str, Comparison]]


def pairs(of_drive: list[dict[str, Any]]) -> Pairs:
    """The part that differs, empty for the same drive; what the pair is of; what is said of it."""
    alike = [one for one in of_drive if one["kind"] == "same"]
    for place, one in enumerate(alike):
        for another in (*alike[place + 1 :], *(other for other in of_drive if other["kind"] == "other")):
            part = "" if another["kind"] == "same" else another["name"]
            found = compared([another["figures"]], [one["figures"]])
            yield part, f"{one['name']} and {another['name']}", found


def judged(kept: list[dict[str, Any]]) -> None:
    by_part: dict[str, list[float]] = {}
    drives = sorted({(one["family"], one["seed"]) for one in kept})
    for drive in drives:
        of_drive = [one for one in kept if (one["family"], one["seed"]) == drive]
        for one in of_drive:
            if isinstance(one["figures"], str):
                print(f"{drive} {one['name']}: {one['figures']}")
        for part, what, found in pairs([one for one in of_drive if isinstance(one["figures"], dict)]):
            by_part.setdefault(part, []).append(found.differences[0].distance)
            if found.same == bool(part):
                _print(drive, f"{'not found' if part else 'false alarm'}, {what}", found)
    same = by_part.pop("", [])
    every = [one for of_part in by_part.values() for one in of_part]
    if not same or not every:
        return
    print(f"{len(drives)} drives, {len(same)} pairs of the same drive, {len(every)} with another part")
    print(f"area under the curve {area(same, every):.4f}")
    print(f"false alarms {100 * sum(one > FARTHEST_ALIKE for one in same) / len(same):.2f} %")
    for part, distances in sorted(by_part.items()):
        found_pct = 100 * sum(one > FARTHEST_ALIKE for one in distances) / len(distances)
        print(f"| {part} | {len(distances)} | {found_pct:.1f} % | {area(same, distances):.4f} |")


def _print(drive: tuple[str, int], what: str, found: Comparison) -> None:
    first = found.differences[0]
    print(f"{drive}: {what}: {first.name} x {first.ratio:.3f}, {first.distance:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drives", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--families", default="enterprise,client,industrial")
    parser.add_argument("--keep", type=Path, help="JSON lines that fingerprints are added to")
    given = parser.parse_args()
    kept = []
    if given.keep and given.keep.exists():
        kept = [json.loads(line) for line in given.keep.read_text().splitlines()]
    for family in given.families.split(","):
        for seed in range(given.first, given.first + given.drives):
            for kind, name, figures in measured(family, seed):
                one = {"family": family, "seed": seed, "kind": kind, "name": name, "figures": figures}
                kept.append(one)
                if given.keep:
                    with given.keep.open("a") as file:
                        file.write(json.dumps(one) + "\n")
    judged(kept)


if __name__ == "__main__":
    main()
