"""I/Os that an engine issues for the self-check, captured one by one, and its figures against them."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.figures import Figures
from openpts.engine.contract import CapturingEngine
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import RunFailedError
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts_line.selfcheck.finding import Expectations

TICK_NS: Final = 100
"""Times are read from a file that has them in whole ticks."""
SEED: Final = 5
PATIENCE_S: Final = 30.0
_PERCENTILES: Final = (1.0, 50.0, 80.0, 90.0, 95.0, 99.0, 100.0)


class CapturedIo(Struct, frozen=True, order=True):
    """A read or write, on the engine's clock; ``operation`` is its name."""

    submitted_ns: int
    latency_ns: int
    operation: str
    offset_bytes: int
    length_bytes: int

    @property
    def completed_ns(self) -> int:
        """When it was answered."""
        return self.submitted_ns + self.latency_ns


def engine_on(
    fd: int, size_bytes: int, demand: Demand, options: NativeOptions, sector_bytes: int = 512
) -> NativeEngine:
    """The engine on a file that is no drive. Raises EngineUnavailableError where there is no io_uring."""
    target = TargetFacts(
        kind=TargetKind.FILE,
        name="self-check",
        path="self-check",
        user_capacity_bytes=size_bytes,
        sector_bytes=sector_bytes,
    )
    return NativeEngine(fd, target, demand, SEED, replace(options, io_path=IoPath.IO_URING))


def samples_of(engine: CapturingEngine, steps: Sequence[Step]) -> list[Sample]:
    """A sample of each step. Raises RunFailedError if the engine gives none."""
    engine.submit(steps)
    samples = [sample for _ in steps if (sample := engine.poll(PATIENCE_S)) is not None]
    engine.finish()
    if len(samples) < len(steps):
        raise RunFailedError("the engine gave no sample")
    return samples


def captured_in(folder: Path) -> tuple[CapturedIo, ...]:
    """All reads and writes of a capture, in the order of their submission. Writes a file beside it."""
    from openpts_traces.treatment import Input, write  # noqa: PLC0415 refuses a build without traces

    paths = tuple(str(path) for path in sorted(folder.glob("*.parquet")))
    if not paths:
        return ()  # a host too busy to issue any within the time of a step
    out = folder.with_suffix(".csv")
    write([Input(paths)], "msr", out, lambda _ios: None)
    rows = (line.split(",") for line in out.read_text().splitlines())
    ios = (
        CapturedIo(int(row[0]) * TICK_NS, int(row[6]) * TICK_NS, row[3].lower(), int(row[4]), int(row[5]))
        for row in rows
    )
    return tuple(sorted(ios))


def judge_sample(found: Expectations, sample: Sample, ios: Sequence[CapturedIo]) -> float:
    """Hold counts, bytes, sums, extremes and percentiles of a sample against those of every captured I/O.

    Returns the largest difference of a percentile in per cent.
    """
    worst_pct = 0.0
    for name in ("read", "write"):
        measured = sample.operations[name]
        own = [io for io in ios if io.operation == name]
        found.equal(f"{name}s in sample and capture", measured.ios, len(own))
        found.equal(f"bytes of {name}s", measured.bytes, sum(io.length_bytes for io in own))
        if not own or measured.ios != len(own):
            continue
        in_order = sorted(io.latency_ns for io in own)
        cut_ns = len(own) * TICK_NS / 2
        found.near(f"sum of {name}s (ns)", measured.latency_sum_ns, sum(in_order) + cut_ns, cut_ns)
        for what, value_ns, wanted_ns in (
            ("minimum", measured.latency_min_ns, in_order[0]),
            ("maximum", measured.latency_max_ns, in_order[-1]),
        ):
            found.near(f"{what} of {name}s (ns)", value_ns, wanted_ns + TICK_NS / 2, TICK_NS / 2)
        distribution = Figures.of([measured], sample.elapsed_ns).distribution
        found.equal(f"{name}s in the histogram", distribution.count, len(own))
        for percentile in _PERCENTILES:
            wanted_ns = in_order[max(0, -int(-percentile * len(in_order) // 100) - 1)]
            value_ns = distribution.percentile_ns(percentile)
            found.near(f"{percentile:g} % of {name}s (ns)", value_ns, wanted_ns, 0.001 * wanted_ns + TICK_NS)
            worst_pct = max(worst_pct, 100 * abs((value_ns or 0) / max(1, wanted_ns) - 1))
        in_intervals = [interval.operations[name] for interval in sample.intervals]
        found.equal(f"{name}s of the intervals", sum(one.ios for one in in_intervals), measured.ios)
        sums_ns = sum(one.latency_sum_ns for one in in_intervals)
        found.equal(f"sum of {name}s in intervals (ns)", sums_ns, measured.latency_sum_ns)
    return worst_pct


def judge_length(found: Expectations, sample: Sample, ios: Sequence[CapturedIo]) -> None:
    """A step lasts from its first submission to its last answer; nothing counts before it is answered.

    Intervals begin with the step, not later than its first submission.
    """
    first_ns, answers_ns = min(io.submitted_ns for io in ios), sorted(io.completed_ns for io in ios)
    lasted_ns = answers_ns[-1] - first_ns
    found.near("time of the step (ns)", sample.elapsed_ns, lasted_ns, 2 * TICK_NS)
    ends_ns = [first_ns + (one.index + 1) * sample.interval_ns for one in sample.intervals]
    counted = accumulate(one.read.ios + one.write.ios for one in sample.intervals)
    early = sum(some > bisect_left(answers_ns, end_ns) for some, end_ns in zip(counted, ends_ns, strict=True))
    found.equal("intervals with I/Os that were not answered by then", early, 0)
