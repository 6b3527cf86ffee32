"""Drives whose every figure is known, for the reports of tests beyond the specification."""

from collections.abc import Callable, Mapping
from itertools import count

from msgspec.structs import replace as with_changes

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import IoErrors, Phase, Sample
from openpts.vocabulary.stimulus import ReducibleData, Stimulus
from openpts_practice.lifetime import Continued, ReadBack, StopOn
from openpts_practice.rows import FigureUnit
from openpts_practice.rows.conditions import FreeSpace
from openpts_practice.rows.profiles import BENCHMARKS, SHORT
from openpts_practice.thermal import COLD
from tests.support.made_up_run import CAPACITY_BYTES, made_up_run, with_samples

BLOCK_BYTES = 131_072
ROWS = len(SHORT.rows)
Values = Callable[[Phase, int, int], Mapping[str, float]]
"""What a log says by phase, number, and how often it was read there before."""


class Cached:
    """2000 MB/s for 20 % of the capacity, then 500; after 70 % 250. Idle time gives 1 % of it back."""

    def __init__(self) -> None:
        self.steps = 0
        self.burst = (0, 0)

    def __call__(self, stimulus: Stimulus, phase: Phase, number: int) -> float:
        if stimulus.random_pct:
            return 100_000 / number
        if phase is Phase.FILL:
            self.steps += 1
            rate = 2000 if self.steps <= 20 else 500 if self.steps <= 70 else 250
            return rate * 1e6 / BLOCK_BYTES
        position = self.burst[1] + 1 if self.burst[0] == number else 1
        self.burst = (number, position)
        return (2000 if number > 1 and position <= 5 else 250) * 1e6 / BLOCK_BYTES


class ByState:
    """Writes as the deck of LSI has them, x 1000: random 230, 200, 50; sequential 300, 250, 25. Reads 100.

    Courses begin at 6,000 IOPS, or 2,000 in the random state, and settle at 2,000 with the second step.
    """

    def __init__(self) -> None:
        self.begun: set[int] = set()

    def __call__(self, stimulus: Stimulus, phase: Phase, number: int) -> float:
        if phase is Phase.LOAD:
            first = number not in self.begun
            self.begun.add(number)
            return 6000 if first and number != 3 else 2000
        if phase is Phase.CONDITIONING or stimulus.read_pct:
            return 100_000
        state = (number - 1) // ROWS
        return ((230e3, 200e3, 50e3) if stimulus.random_pct else (300e3, 250e3, 25e3))[state]


def several_benchmarks() -> Run:
    """Two benchmarks of two rows at two entropies, writes slower in each state; the second one has times.

    Reads 100,000 a second; writes 40,000 FOB, 20,000 after SEQ, 8,000 after RND, twice that at half the
    entropy.
    """

    def rate(stimulus: Stimulus, phase: Phase, number: int) -> float:
        gain = 2 if stimulus.data == ReducibleData(50) else 1
        if phase is not Phase.PROFILE or stimulus.read_pct:
            return 100_000
        return gain * (40_000, 20_000, 8_000)[(number - 1) // 4 % 3]

    def adjust(of: Conditions) -> Conditions:
        low, demo = BENCHMARKS["solidigm-low"], BENCHMARKS["crystaldiskmark-demo"]
        rows = tuple(
            with_changes(row, units=(FigureUnit.MILLISECONDS,), data=None)
            for row in low.rows
            if row.random_pct
        )
        return with_changes(
            of,
            benchmarks=(demo, with_changes(low, name="mine", title="Mine", rows=rows)),
            entropies_pct=(50.0, 100.0),
            leave_free=FreeSpace(1, 10 * 10**9),
            steady_after_drive_fills=1,
        )

    return made_up_run("precon", rate=rate, adjust=adjust)


class Rates:
    """Each step of a row 1 % faster than the one before it: 1,000 IOPS for the first."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}

    def __call__(self, _stimulus: Stimulus, phase: Phase, number: int) -> float:
        if phase is not Phase.PROFILE:
            return 1000
        self.seen[number] = self.seen.get(number, -1) + 1
        return 1000 + 10 * self.seen[number]


def wearing_run(log: list[Mapping[str, float]] | None, cycles: int = 30) -> Run:
    """``log`` None: one that grows by 0.7 % of the life a cycle, told in whole per cent, at a WAF of 1.5."""
    reads = count()

    def health(_phase: Phase, _number: int) -> HealthReading:
        done = next(reads)
        if log is not None:
            return HealthReading("a log", log[min(done, len(log) - 1)])
        return HealthReading(
            "a log",
            {
                "percentage_used_pct": float(int(10 + 0.7 * done)),
                "available_spare_pct": 100.0,
                "media_errors": 0.0,
                "host_write_bytes": float(done * CAPACITY_BYTES),
                "nand_write_bytes": 1.5 * done * CAPACITY_BYTES,
            },
        )

    def rate(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return 8000 if stimulus.operations.write else 16_000

    return made_up_run(
        "lifetime", rate=rate, health=health, adjust=lambda c: with_changes(c, drive_cycles=cycles)
    )


def continuing_run() -> Run:
    """Follows a run of five cycles after 30 days: two reads of what that wrote fail, then one in cycle 7."""
    first = ReadBack(
        cycle=5,
        run="EARLIER",
        age_ns=7 * 10**11,
        written_c=38.0,
        read_c=38.0,
        bytes_per_s=2.1e9,
        mean_ns=2e6,
        p999_ns=3 * 10**6,
        max_ns=5 * 10**6,
        errors=0,
    )
    after = Continued(
        run="EARLIER",
        folder="/earlier",
        cycle=5,
        written_at="2025-12-02T00:00:00.000+00:00",
        written_ns=0,
        written_c=38.0,
        compares=True,
        rest_ns=0,
        reads=(first,),
    )

    def health(_phase: Phase, number: int) -> HealthReading:
        return HealthReading("a log", {"percentage_used_pct": number / 2, "temperature_c": 41.0})

    run = made_up_run(
        "lifetime",
        health=health,
        adjust=lambda c: with_changes(c, continues=after, stop_on=StopOn.FAILED_WRITE, drive_cycles=3),
    )
    reason = "the checksum is wrong, the sector is corrupt"
    lost = {
        (Phase.LATER_READ, 5): IoErrors("read", reason, 2, (2**20, 2**30)),
        (Phase.DRIVE_CYCLE, 7): IoErrors("read", "Input/output error (EIO)", 1, (2**30,)),
    }

    def with_errors(step: StepRecord) -> Sample:
        errors = lost.get((step.place.phase, step.place.number))
        reads = step.sample.read.ios > 0
        return with_changes(step.sample, errors=(errors,)) if errors and reads else step.sample

    return with_samples(run, with_errors)


def thermal_run(values: Values) -> Run:
    read: dict[tuple[Phase, int], int] = {}

    def health(phase: Phase, number: int) -> HealthReading:
        before = read.get((phase, number), 0)
        read[phase, number] = before + 1
        return HealthReading("NVMe log page 02h", values(phase, number, before))

    def rate(_stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return 10_000

    return made_up_run("thermal", rate=rate, health=health)


def counting(phase: Phase, number: int, before: int) -> Mapping[str, float]:
    """The cold run warms the drive by 2 K a minute; it throttles for 30 s of each from the fourth on."""
    if (phase, number) == (Phase.LOAD, COLD):
        return {
            "temperature_c": 40.0 + 2 * before,
            "throttled_s": float(max(0, before - 3) * 30),
            "warning_limit_c": 60.0,
        }
    return {"temperature_c": 40.0, "throttled_s": 0.0}
