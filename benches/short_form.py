"""The short form of a test against its key values at full length, on simulated drives that are drawn.

A drive is conditioned once, by the product's own scripts, and then measured by several tests in their short
form; what they should have found is measured on the same drive afterwards, in elements of full length, once
it has been written to for long. Of IOPS the round has two block sizes of eight and three mixes of seven, or
with --whole all 56 elements. Drives are of 400 GB, scaled
down to 8 GB: an element of 5 s has 100 ms of the drive's own time, beside which buffers count as little as on
a real one, and 6 % of its capacity are written in a minute, as on a small one.

    .venv/bin/python -m benches.short_form [--drives 20] [--seed N] [--tests lat,iops,tp] [--whole]
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from msgspec.structs import replace
from scipy.stats import binomtest

from benches.drawn_drives import draw
from benches.short_state import LONG, SIMULATED_BYTES, Writes
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.analysis.uncertainty import STATE, blocks_of, of_mean, rectangular, with_components
from openpts.procedures.kit.steps import ART, IOPS, THROUGHPUT, Metric
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.verdict import RoundPoint
from openpts_pts.iops.script import standard_conditions as iops_conditions
from openpts_pts.lat.script import standard_conditions as lat_conditions
from openpts_pts.shared.one_pass import AFTERWARDS
from openpts_pts.shared.rounds.conditions import SHORTER, RoundConditions
from openpts_pts.shared.rounds.results import MatrixCell, analyze_round_test
from openpts_pts.shared.rounds.script import element, preconditioning, until_steady
from openpts_pts.tp.script import standard_conditions as tp_conditions
from openpts_pts.wsat.script import script as wsat_script
from openpts_pts.wsat.script import standard_conditions as wsat_conditions

CAPACITY_BYTES: Final = 400_000_000_000
_SCALE: Final = CAPACITY_BYTES // SIMULATED_BYTES
# what a drive does at times of its own would otherwise fall into one short element of several
_AT_SCALE: Final = {
    "page_mapped.controller.housekeeping": {"period_ms": 700 / _SCALE, "stall_ms": 1.8 / _SCALE}
}
_WITHIN_PCT: Final = 5
_TRUE_ROUNDS: Final = 4
"""Of full length, of which the first does not count: the drive gets used to the test."""
_UNCOUNTED: Final = 1
_BLOCK_SIZES_BYTES: Final = {"iops": (8 * KIB, 4 * KIB)}
_METRICS: Final[dict[str, Metric[Any]]] = {"iops": IOPS, "lat": ART, "tp": THROUGHPUT}


class Found(NamedTuple):
    """A key value in the short form, and what it should have been: each with its uncertainty at 95 %."""

    name: str
    short: float
    expanded: float
    true: float
    true_standard: float
    steady: bool

    @property
    def error(self) -> float:
        return self.short / self.true - 1

    @property
    def is_within(self) -> bool:
        return abs(self.short - self.true) <= self.expanded

    def __str__(self) -> str:
        marks = ("" if self.is_within else " OUTSIDE") + ("" if self.steady else " (not steady)")
        return (
            f"{self.name} {100 * self.error:+.1f} % (± {100 * self.expanded / self.short:.1f}; "
            f"true one's s {100 * self.true_standard / self.true:.1f}){marks}"
        )


def conditions_of(test: str, seed: int, *, whole: bool = False) -> Any:
    """Those of the test at full length; of IOPS with fewer block sizes and mixes, but for whole rounds."""
    standards: dict[str, Callable[..., Any]] = {
        "iops": iops_conditions,
        "lat": lat_conditions,
        "tp": tp_conditions,
    }
    conditions = standards[test](DriveClass.ENTERPRISE, seed=seed)
    if whole or (sizes := _BLOCK_SIZES_BYTES.get(test)) is None:
        return conditions
    tracking = tuple(one for one in conditions.tracking if one.block_size_bytes in sizes)
    return replace(conditions, read_pcts=(100, 65, 0), block_sizes_bytes=sizes, tracking=tracking)


def in_short(conditions: Any) -> Any:
    """The same in its short form."""
    return replace(conditions, within_pct=_WITHIN_PCT, minute_ns=conditions.minute_ns // SHORTER)


def points_of(conditions: RoundConditions, sizes: Sequence[int]) -> list[RoundPoint]:
    """A round."""
    pattern = conditions.tracking[0].access_pattern
    return [RoundPoint(pattern, size, read_pct) for read_pct in conditions.read_pcts for size in sizes]


class Cycle(NamedTuple):
    """A test on a drive that is conditioned for it, with the block sizes that it has in a round."""

    test: str
    conditions: RoundConditions
    sizes: tuple[int, ...]

    @property
    def points(self) -> list[RoundPoint]:
        return points_of(self.conditions, self.sizes)

    @property
    def key_points(self) -> list[RoundPoint]:
        """Those of 4 KiB."""
        return [one for one in self.points if one.block_size_bytes == 4 * KIB]

    def short(self, drive: Writes) -> tuple[dict[RoundPoint, MatrixCell], bool]:
        """Means over the window of the short form, and whether it was steady."""
        return self._means(drive, in_short(self.conditions))

    def at_full_length(self, drive: Writes) -> tuple[dict[RoundPoint, MatrixCell], bool]:
        """The same of the test as the specification has it."""
        return self._means(drive, self.conditions)

    def _means(self, drive: Writes, conditions: RoundConditions) -> tuple[dict[RoundPoint, MatrixCell], bool]:
        steps = tuple(element(conditions, point) for point in self.points)
        tracking = tuple(one for one in conditions.tracking if one.block_size_bytes in self.sizes)
        drive.rounds.clear()
        outcome, _ = drive.carry_out(until_steady(conditions, steps, tracking))
        one_pass = drive.one_pass if conditions.within_pct else None
        results = analyze_round_test(conditions, drive.rounds, outcome.steady_round, self.sizes, one_pass)
        return results.cells, outcome.steady_round is not None

    def true(self, drive: Writes) -> dict[RoundPoint, list[Sample]]:
        """Samples of each key point at full length."""
        steps = tuple(element(self.conditions, point) for point in self.points)
        rounds = [drive.apply(Apply(Phase.ROUND, 0, steps)) for _ in range(_TRUE_ROUNDS)][_UNCOUNTED:]
        return {point: [one[place] for one in rounds] for place, point in enumerate(self.points)}

    def found(
        self, means: dict[RoundPoint, MatrixCell], true: dict[RoundPoint, list[Sample]], *, steady: bool
    ) -> Iterator[Found]:
        """The key values."""
        metric = _METRICS[self.test]
        for point in self.key_points:
            mean = means[point]
            values = [(metric.of(one) or 0.0) / metric.per for one in true[point]]
            value, expanded = _mean(metric, mean)
            standard = stdev(values) / len(values) ** 0.5
            yield Found(f"{self.test} {point}", value, expanded, fmean(values), standard, steady)


def saturated(drive: Writes, seed: int) -> list[Sample]:
    """The last minutes of write saturation in its short form; none where it goes on at full length."""
    conditions = replace(wsat_conditions(DriveClass.ENTERPRISE, seed=seed), within_pct=_WITHIN_PCT)
    script, answer = wsat_script(conditions, drive.capacity_bytes), None
    minutes: list[Sample] = []
    while True:
        request = script.send(answer)
        phase = request.phase if isinstance(request, Apply) else None
        if phase is Phase.HISTOGRAM or (phase is Phase.SATURATION and drive.one_pass.why_not):
            script.close()
            return minutes[-WINDOW_ROUNDS:]
        answer = drive.apply(request) if isinstance(request, Apply) else None
        if answer is not None and phase is Phase.SATURATION:
            minutes += answer


def random_tests(
    tests: Sequence[str], seed: int, folder: Path, family: str, *, whole: bool
) -> list[Found] | str:
    """Tests of random I/O after one pass, that of write saturation; why it doesn't hold, if so."""
    drive = Writes(draw(family, seed, folder, _AT_SCALE), CAPACITY_BYTES)
    minutes = saturated(drive, seed)
    state = drive.one_pass.state_off
    if state is None:
        return drive.one_pass.why_not
    cycles = [Cycle(test, c := conditions_of(test, seed, whole=whole), c.block_sizes_bytes) for test in tests]
    short = [cycle.short(drive) for cycle in cycles]
    passed = drive.written_bytes / drive.capacity_bytes
    window = drive.samples[AFTERWARDS][-1].step
    # what whole rounds of large writes leave takes longer to be gone
    count = 4 * LONG if whole else LONG
    long = [one.iops for one in drive.apply(Apply(Phase.CONDITIONING, 0, (window,) * count))][-LONG:]
    true = [cycle.true(drive) for cycle in cycles]
    print(f"{seed}: wrote {passed:.2f} user capacities", flush=True)
    return [
        saturation(minutes, state, long),
        *(
            one
            for cycle, (means, steady), values in zip(cycles, short, true, strict=True)
            for one in cycle.found(means, values, steady=steady)
        ),
    ]


def saturation(minutes: Sequence[Sample], state: float, long: Sequence[float]) -> Found:
    """The steady state of write saturation, as its report has it."""
    blocks = blocks_of(minutes, lambda one: one.iops)
    value = fmean(one.value for one in blocks)
    expanded = with_components(of_mean(blocks), rectangular(STATE, state * value)).expanded or 0.0
    return Found("wsat", value, expanded, fmean(long), stdev(long) / len(long) ** 0.5, steady=True)


def throughput(seed: int, folder: Path, family: str) -> list[Found]:
    """The block sizes after the first: on its state, and from a purge on. Of the first nothing differs.

    Both are figures of five rounds, whose difference is judged by the uncertainties of both. Elements are of
    a minute, so that the drive may be as large as it is.
    """
    conditions = conditions_of("tp", seed)
    first, *others = conditions.block_sizes_bytes
    drawn = draw(family, seed, folder)
    short = Writes(drawn)
    short.carry_out(preconditioning(conditions, first, short.capacity_bytes))
    Cycle("tp", conditions, (first,)).at_full_length(short)
    found = []
    for size in others:
        full, cycle = Writes(drawn), Cycle("tp", conditions, (size,))
        full.carry_out(preconditioning(conditions, size, full.capacity_bytes))
        (mine, is_steady), (its, is_its_steady) = (cycle.at_full_length(one) for one in (short, full))
        for point in cycle.points:
            (value, expanded), (true, of_true) = (_mean(THROUGHPUT, one[point]) for one in (mine, its))
            both, steady = math.hypot(expanded, of_true), is_steady and is_its_steady
            found.append(Found(f"tp {point}", value, both, true, of_true / 2, steady))
    amounts = (one.written_bytes / one.capacity_bytes for one in (short, full))
    print("{}: tp wrote {:.2f}, from the second purge on {:.2f}".format(seed, *amounts), flush=True)
    return found


def _mean(metric: Metric[Any], mean: MatrixCell) -> tuple[float, float]:
    """A mean and its expanded uncertainty."""
    uncertainty = metric.mean_uncertainty(mean)
    return (metric.of(mean) or 0.0) / metric.per, (uncertainty and uncertainty.expanded) or 0.0


def summary(name: str, rows: Sequence[Found]) -> str:
    """Median error, and how often intervals hold, with the bounds of that share at 95 %."""
    known = [one for one in rows if one.steady]
    if not known:
        return f"{name}: none of {len(rows)} steady"
    held = sum(one.is_within for one in known)
    low, high = binomtest(held, len(known)).proportion_ci()
    errors = sorted(abs(one.error) for one in known)
    return (
        f"{name}: {len(known)} of {len(rows)} values steady; error median {100 * median(errors):.1f} %, "
        f"90 % below {100 * errors[int(0.9 * len(errors))]:.1f} %; interval median ± "
        f"{100 * median(one.expanded / one.short for one in known):.1f} %; {held} within = "
        f"{100 * held / len(known):.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    )


def main() -> None:
    """Print a line for each drive, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", default="lat,iops,tp")
    parser.add_argument("--family", default="enterprise")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    tests = options.tests.split(",")
    random = [test for test in tests if test != "tp"]
    rows: dict[str, list[Found]] = {}
    reasons = []
    with TemporaryDirectory() as place:
        for seed in range(options.seed, options.seed + options.drives):
            found = (
                random_tests(random, seed, Path(place), options.family, whole=options.whole) if random else []
            )
            if isinstance(found, str):
                reasons.append(found)
                print(f"{seed}: {found}", flush=True)
                found = []
            if "tp" in tests:
                found += throughput(seed, Path(place), options.family)
            for one in found:
                rows.setdefault(one.name, []).append(one)
                print(f"{seed}: {one}", flush=True)
    for name, known in rows.items():
        print(summary(name, known))
    if random and rows:
        print(
            summary("all but tp", [one for name, known in rows.items() for one in known if name[:2] != "tp"])
        )
    print(f"{len(reasons)} of {options.drives} drives at full length")


if __name__ == "__main__":
    main()
