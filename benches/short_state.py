"""The state that the one pass of the short form leaves, on simulated drives that are drawn, of many kinds.

The rate of 4 KiB random writes after the pass is compared with that after long random writing from there on.
Shown are its error, how often the interval of rate and state has it and which drives it hasn't, and how many
go on at full length, with the reasons. It takes a second or two of processor time for a drive.

    .venv/bin/python -m benches.short_state [--drives 20] [--seed N] [--kinds fifo,hot]
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from benches.drawn_drives import Changes, Drawn, draw
from openpts.analysis.uncertainty import SCATTER, STATE, budget, rectangular
from openpts.engine.options import Demand, NativeOptions
from openpts.units import MIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, ScriptPart
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import DataPattern, RandomData, ReducibleData
from openpts.vocabulary.uncertainty import Component
from openpts_pts.iops.script import standard_conditions
from openpts_pts.shared.one_pass import AFTERWARDS, JUDGED, OnePass, condition_in_one_pass
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive
from tests.support.next_sample import next_sample

T = TypeVar("T")
SIMULATED_BYTES: Final = 8_000_000_000
_VICTIM: Final = "page_mapped.collection.victim"
LONG: Final = 50
"""Windows of a hundredth of the range, twice: to come to rest, and to be the truth."""


class Kind(NamedTuple):
    """Drives of a family, with what is fixed of them, and the data that they are written with."""

    family: str
    fixed: Changes = MappingProxyType({})
    data: DataPattern = RandomData()


KINDS: Final[Mapping[str, Kind]] = {
    "greedy": Kind("enterprise", {_VICTIM: "greedy"}),
    "fifo": Kind("enterprise", {_VICTIM: "fifo"}),
    "choices": Kind("enterprise", {_VICTIM: {"choices": 8}}),
    "mixed-frontiers": Kind("enterprise", {"page_mapped.collection.frontiers": "mixed"}),
    "industrial": Kind("industrial"),
    "client": Kind("client"),
    "reduction": Kind("reduction"),
    "compressible": Kind("reduction", data=ReducibleData(40)),
    "hot": Kind(
        "enterprise",
        {
            "page_mapped.thermal.ambient_c": 62.0,
            "page_mapped.thermal.throttle": [{"from_c": 75.0, "hysteresis_k": 4.0, "factor": 4.0}],
        },
    ),
    "log-block": Kind("log-block"),
}


class State(NamedTuple):
    """What came of one drive: why the pass doesn't hold, or its error, and its interval, in shares."""

    seed: int
    reason: str
    error: float = 0.0
    expanded: float = 0.0
    written: float = 0.0


class Writes:
    """A drive that scripts are carried out on, and its windows by the number of their part."""

    def __init__(self, drawn: Drawn, capacity_bytes: int | None = None) -> None:
        preset = load_preset(str(drawn.path))
        self.capacity_bytes = capacity_bytes or int(drawn.content["capacity_bytes"])
        scale = max(1, self.capacity_bytes // SIMULATED_BYTES)
        drive = SimulatedDrive(
            preset, path=drawn.target(), capacity_bytes=self.capacity_bytes, scale=scale, seed=drawn.seed
        )
        self.engine = drive.engine(Demand(4, 32, MIB), drawn.seed, NativeOptions())
        self.samples: dict[int, list[Sample]] = {}
        self.rounds: list[tuple[int, Sample]] = []
        self.written_bytes = 0

    def carry_out(self, script: ScriptPart[T]) -> T:
        """The script's own answer."""
        answer = None
        while True:
            try:
                request = script.send(answer)
            except StopIteration as ended:
                return cast("T", ended.value)
            answer = self.apply(request) if isinstance(request, Apply) else None

    def apply(self, request: Apply) -> tuple[Sample, ...]:
        self.engine.submit(list(request.steps))
        samples = tuple(next_sample(self.engine, "") for _ in request.steps)
        self.written_bytes += sum(one.write.bytes for one in samples)
        if request.phase is Phase.CONDITIONING:
            self.samples.setdefault(request.number, []).extend(samples)
        if request.phase is Phase.ROUND:
            self.rounds += ((request.number, one) for one in samples)
        return samples

    @property
    def one_pass(self) -> OnePass:
        return OnePass.of((part, one) for part, samples in self.samples.items() for one in samples)


def state(kind: Kind, seed: int, folder: Path) -> State:
    """One drive: the pass, then long writing."""
    drive = Writes(draw(kind.family, seed, folder, kind.fixed))
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, seed=seed), data=kind.data)
    drive.carry_out(condition_in_one_pass(conditions, drive.capacity_bytes))
    written = drive.written_bytes / drive.capacity_bytes
    one_pass = drive.one_pass
    if one_pass.state_off is None:
        return State(seed, one_pass.why_not, written=written)
    last = one_pass.rates[-JUDGED:]
    found = fmean(last)
    bounds = rectangular(STATE, one_pass.state_off * found)
    scatter = Component(SCATTER, stdev(last) / len(last) ** 0.5, len(last) - 1)
    window = drive.samples[AFTERWARDS][-1].step
    long = drive.apply(Apply(Phase.CONDITIONING, 0, (window,) * 2 * LONG))
    true = fmean(sample.iops for sample in long[LONG:])
    expanded = budget((scatter, bounds)).expanded or 0.0
    return State(seed, "", found / true - 1, expanded / true, written)


def rows(kinds: list[str], seeds: range) -> Iterator[str]:
    """A line for each kind, and one for each reason."""
    for name in kinds:
        with TemporaryDirectory() as folder:
            found = [state(KINDS[name], seed, Path(folder)) for seed in seeds]
        holds = [one for one in found if not one.reason]
        line = f"{name}: {len(found)} drives, {len(found) - len(holds)} at full length"
        if holds:
            errors = [abs(one.error) for one in holds]
            within = sum(abs(one.error) <= one.expanded for one in holds)
            line += (
                f"; error median {100 * median(errors):.1f} %, largest {100 * max(errors):.1f} %; "
                f"{within} of {len(holds)} within the interval, of median ± "
                f"{100 * median(one.expanded for one in holds):.1f} %; "
                f"wrote {median(one.written for one in holds):.2f}"
            )
        yield line
        yield from (
            f"    seed {one.seed}: {100 * one.error:+.1f} % (± {100 * one.expanded:.1f})"
            for one in holds
            if abs(one.error) > one.expanded
        )
        reasons = Counter(one.reason.split(",")[0].split(":")[0] for one in found if one.reason)
        yield from (f"    {count}: {reason}" for reason, count in reasons.most_common())


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    for line in rows(options.kinds.split(","), range(options.seed, options.seed + options.drives)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
