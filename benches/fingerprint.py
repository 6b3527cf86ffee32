"""Fingerprints of simulated drives: pairs that differ in one part, and pairs of the same drive.

Of each drawn drive the test is carried out on four of its kind, each with a seed of its own: one new and
cool, one used and 20 K hotter, two whose life before the test is drawn; and on those with one part changed,
whose life is drawn as well. The four are two pairs of the same drive, and each other is a pair with one of
them: no run of another part is in two pairs, and no run at all in two pairs of the same drive.

A line for each drive shows how far it is; at the end stand the tables of docs/fingerprint.md, and each pair
with a wrong answer. `--keep` adds the figures of each drive to a file, and goes on behind the last one there.

    .venv/bin/python -m benches.fingerprint [--drives 106] [--first 1] [--families client] [--keep FILE]
"""

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benches.drawn_drives import Changes, Drawn, draw
from msgspec.structs import replace

from openpts.engine.next_sample import next_sample
from openpts.engine.options import Demand, NativeOptions
from openpts.engine.simulated import SimulatedDrive, SimulatedEngine
from openpts.errors import OpenptsError
from openpts.simulation.presets import load_preset
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Purge, SetWriteCache
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step
from openpts.vocabulary.stop import ByteAmount
from openpts.vocabulary.workload import simple_workload
from openpts_twin.fingerprint.features import FARTHEST_ALIKE, Comparison, compared, figures_of
from openpts_twin.fingerprint.script import at_scale, script, standard_conditions

SCALES: Final = {"enterprise": 48, "client": 48, "industrial": 8}
HOTTER_K: Final = 20


class Life(NamedTuple):
    """What a drive went through before the test: long random writing, a fill, and heat.

    The fill is a share of the capacity; it lies over the first LBAs, or at random over all of them.
    """

    used: bool = False
    filled: float = 0.0
    at_random: bool = False
    hotter_k: float = 0.0

    @classmethod
    def drawn(cls, chance: random.Random) -> "Life":
        filled = chance.choice([0.0, chance.uniform(0.3, 0.7), chance.uniform(0.9, 1.0)])
        return cls(chance.random() < 0.7, filled, chance.random() < 0.5, chance.uniform(0, HOTTER_K))

    @property
    def text(self) -> str:
        order = "at random" if self.at_random else "in sequence"
        return f"{'used' if self.used else 'new'}, filled {self.filled:.0%} {order}, +{self.hotter_k:.0f} K"


def value(content: Mapping[str, Any], name: str) -> Any:
    for word in name.split("."):
        content = content[word]
    return content


def parts(drive: Drawn, chance: random.Random) -> Iterator[tuple[str, Changes]]:
    """One part changed at a time."""

    def scaled(name: str, factor: float) -> Changes:
        return {name: round(value(drive.content, name) * factor, 3)}

    yield "read time", scaled("page_mapped.nand.read_us", chance.choice([0.8, 1.25]))
    yield "program time", scaled("page_mapped.nand.program_us", chance.choice([0.8, 1.25]))
    yield "controller", scaled("page_mapped.controller.fixed_read_us", chance.choice([0.7, 1.4]))
    physical = value(drive.content, "page_mapped.mapping.physical_per_user")
    more = round(physical + chance.choice([0.05, 0.1]), 3)
    yield "spare flash", {"page_mapped.mapping.physical_per_user": more}
    geometry = drive.content["page_mapped"]["geometry"]
    if "bytes_per_die" in geometry:
        yield "dies", {"page_mapped.geometry.bytes_per_die": geometry["bytes_per_die"] // 2}
    else:
        yield "dies", {"page_mapped.geometry.dies": geometry["dies"] * 2}
    units = value(drive.content, "page_mapped.write_buffer.program_units_per_die")
    yield "buffer", {"page_mapped.write_buffer.program_units_per_die": units * 2}
    if "slc" in drive.content["page_mapped"]:
        share = value(drive.content, "page_mapped.slc.static_share")
        yield "cache", {"page_mapped.slc.static_share": round(min(0.1, share * 1.5), 3)}


class DriveInUse:
    """A drive that lives, and that the test's script is then carried out on."""

    def __init__(self, drive: Drawn, scale: int, seed: int) -> None:
        self.drive = SimulatedDrive(
            load_preset(str(drive.path)),
            path=drive.target(),
            capacity_bytes=int(drive.content["capacity_bytes"]),
            scale=scale,
            seed=seed,
        )
        conditions = standard_conditions(DriveClass.ENTERPRISE, seed=seed)
        self.conditions = at_scale(conditions, scale)
        self.engine: SimulatedEngine = self.drive.engine(Demand(4, 64, 128 * KIB), seed, NativeOptions())

    def lives(self, life: Life) -> None:
        """Written, erased in the state of long random writing, and filled."""
        if life.used:
            self._write(1, at_random=False)
            self.drive.jump_start()
            self.drive.purge()
        self._write(life.filled, at_random=life.at_random)

    def _write(self, share: float, *, at_random: bool) -> None:
        if not share:
            return
        pattern = AccessPattern.RANDOM if at_random else AccessPattern.SEQUENTIAL
        conditions = replace(self.conditions, active_range=ActiveRange(0, 100 if at_random else 100 * share))
        stimulus = conditions.stimulus(simple_workload("fill", pattern, 128 * KIB, 0), tc=1, qd=32)
        amount = round(share * self.drive.facts.user_capacity_bytes)
        self._applied((Step.of(stimulus, ByteAmount(amount)),))

    def figures(self) -> Mapping[str, float]:
        """The fingerprint, by the samples of the test's own script."""
        samples: dict[Phase, list[Sample]] = {phase: [] for phase in Phase}
        requests = script(self.conditions, self.drive.facts.user_capacity_bytes)
        answer = None
        while True:
            try:
                request = requests.send(answer)
            except StopIteration:
                return figures_of(samples, self.conditions.scale)
            answer = None
            if isinstance(request, Purge):
                self.drive.mark()
                self.drive.purge()
            elif isinstance(request, SetWriteCache):
                self.drive.set_write_cache(request.enabled)
            elif isinstance(request, Apply):
                answer = self._applied(request.steps)
                samples[request.phase].extend(answer)

    def _applied(self, steps: tuple[Step, ...]) -> tuple[Sample, ...]:
        self.engine.submit(list(steps))
        return tuple(next_sample(self.engine, "") for _ in steps)


def taken(family: str, seed: int, changes: Changes, life: Life, own_seed: int) -> Mapping[str, float]:
    """The fingerprint of one of these drives with so much behind it."""
    with TemporaryDirectory() as work:
        drive = draw(family, seed, Path(work), changes)
        if "thermal" in drive.content["page_mapped"]:
            ambient_c = value(drive.content, "page_mapped.thermal.ambient_c") + life.hotter_k
            drive = draw(family, seed, Path(work), {**changes, "page_mapped.thermal.ambient_c": ambient_c})
        tested = DriveInUse(drive, SCALES[family], own_seed)
    tested.lives(life)
    return tested.figures()


def measured(family: str, seed: int) -> Iterator[dict[str, Any]]:
    """All runs of a drive: those of the same parts first."""
    chance = random.Random(f"{family}{seed}")
    with TemporaryDirectory() as work:
        changed = list(parts(draw(family, seed, Path(work)), chance))
    hard = Life.drawn(chance)._replace(hotter_k=HOTTER_K)
    same = [Life(), hard._replace(used=True), Life.drawn(chance), Life.drawn(chance)]
    runs = [*(("", {}, life) for life in same), *((*one, Life.drawn(chance)) for one in changed)]
    for number, (part, changes, life) in enumerate(runs, start=1):
        # the one whose parts are changed has the seed of no other
        try:
            figures: Any = taken(family, seed, changes, life, 1000 * seed + number)
        except OpenptsError as error:
            figures = str(error)
        yield {"family": family, "seed": seed, "part": part, "life": life.text, "figures": figures}


def area(same: list[float], other: list[float]) -> float:
    wins = sum((b > a) + 0.5 * (b == a) for a in same for b in other)
    return wins / (len(same) * len(other))


def pairs(of_drive: list[dict[str, Any]]) -> Iterator[tuple[str, str, Comparison]]:
    """The part that differs, empty for the same drive; the lives of the two; what is said of them."""
    alike = [one for one in of_drive if not one["part"]]
    others = [one for one in of_drive if one["part"]]
    for one, another in (
        *zip(alike[::2], alike[1::2], strict=True),
        *zip(cycle(alike), others, strict=False),
    ):
        if isinstance(one["figures"], str) or isinstance(another["figures"], str):
            continue
        found = compared([another["figures"]], [one["figures"]])
        yield another["part"], f"{one['life']} / {another['life']}", found


def judged(kept: list[dict[str, Any]]) -> None:
    """The tables, and the wrong answers."""
    alike: dict[str, list[float]] = {}
    other: dict[str, list[float]] = {}
    drives: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for one in kept:
        if isinstance(one["figures"], str):
            print(f"no fingerprint: {one}")
        drives.setdefault((one["family"], one["seed"]), []).append(one)
    for drive, of_drive in drives.items():
        for part, lives, found in pairs(of_drive):
            first = found.differences[0]
            for group in {part, drive[0], "all"} - {""}:
                (other if part else alike).setdefault(group, []).append(first.distance)
            if found.same == bool(part):
                what = f"{part} not found" if part else "false alarm"
                print(f"{drive}: {what}: {first.name} x {first.ratio:.4f}, {first.distance:.1f}; {lives}")
    same = alike["all"]
    alarms = sum(one > FARTHEST_ALIKE for one in same)
    print(f"{len(drives)} drives, {len(same)} pairs of the same drive, {len(other['all'])} with another part")
    most_pct = 100 * most_share(alarms, len(same))
    print(f"false alarms {alarms} of {len(same)}, {most_pct:.2f} % at the most (95 %)")
    print("| Part or family | Pairs | Found | Area under the curve |\n|---|---|---|---|")
    for group, distances in sorted(other.items(), key=lambda of: (of[0] == "all", of[0] in alike, of[0])):
        found_pct = 100 * sum(one > FARTHEST_ALIKE for one in distances) / len(distances)
        curve = area(alike.get(group, same), distances)
        print(f"| {group} | {len(distances)} | {found_pct:.1f} % | {curve:.4f} |")


def most_share(events: int, count: int) -> float:
    """The upper bound of a share at 95 % (Clopper and Pearson, one-sided)."""
    low, high = events / count, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        fewer = sum(math.comb(count, k) * middle**k * (1 - middle) ** (count - k) for k in range(events + 1))
        low, high = (middle, high) if fewer > 0.05 else (low, middle)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drives", type=int, default=106, help="of each family")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--families", default=",".join(SCALES))
    parser.add_argument("--keep", type=Path, help="JSON lines that fingerprints are added to")
    given = parser.parse_args()
    kept: list[dict[str, Any]] = []
    if given.keep and given.keep.exists():
        kept = [run for line in given.keep.read_text().splitlines() for run in json.loads(line)]
    done = {(one["family"], one["seed"]) for one in kept}
    families = given.families.split(",")
    wanted = [(of, seed) for seed in range(given.first, given.first + given.drives) for of in families]
    began = time.monotonic()
    for number, (family, seed) in enumerate(wanted, start=1):
        if (family, seed) in done:
            continue
        of_drive = list(measured(family, seed))
        kept += of_drive
        passed_s, used_s = time.monotonic() - began, time.process_time()
        print(
            f"{number} of {len(wanted)}: {family} {seed}, {passed_s:.0f} s, {used_s:.0f} s of a processor",
            flush=True,
        )
        if given.keep:
            with given.keep.open("a") as file:
                file.write(json.dumps(of_drive) + "\n")
    judged(kept)


if __name__ == "__main__":
    main()
