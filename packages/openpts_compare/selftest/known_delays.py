"""Delays that are known, through the kernel and the engine: a pipe whose other end answers on time.

Each read of the engine waits until a thread of this process writes into the pipe, by a law that is planted.
When it did so is known by a clock that the engine does not read; each I/O is captured beside the histogram.
"""

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import Figures
from openpts.engine.native import NativeEngine
from openpts.engine.options import CaptureSettings, Demand, IoPath, NativeOptions
from openpts.errors import RunFailedError
from openpts.units import GIB, KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, IoCount, Step, Stimulus
from openpts_compare.selftest.finding import Expectations, SelfTestFinding

SEED: Final = 5
TICK_NS: Final = 100
"""Times of a capture are read from a file that has them in whole ticks."""
_PATIENCE_S: Final = 30.0
_PERCENTILES: Final = (1.0, 50.0, 80.0, 90.0, 95.0, 99.0, 100.0)
_BYTES: Final = 4 * KIB  # what a pipe takes or gives at once
_LAW_NS: Final = (*(NS_PER_MS,) * 9, 5 * NS_PER_MS)
_BETWEEN_NS: Final = 3 * NS_PER_MS
_WITHIN: Final = 0.01
_LEAST_PCT: Final = 5.0
_PATH_NS: Final = 50_000
_FEWEST: Final = 100
_INTERVAL_NS: Final = 2 * NS_PER_MS
"""Shorter than the longest delay, so that nothing is answered in some."""
_MOST_PPM: Final = 200
_TRIES: Final = 50
_LARGEST_PPM: Final = 1000
"""NTP slews by 500 ppm at most; a clock that is off by more would be in every figure."""
_JITTER_NS: Final = 20_000
_PER_MILLION: Final = 1e6


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
        name="self-test",
        path="self-test",
        user_capacity_bytes=size_bytes,
        sector_bytes=sector_bytes,
    )
    return NativeEngine(fd, target, demand, SEED, replace(options, io_path=IoPath.IO_URING))


def captured_in(folder: Path) -> tuple[CapturedIo, ...]:
    """All reads and writes of a capture, in the order of their submission. Writes a file beside it."""
    from openpts_traces.treatment import Input, write  # noqa: PLC0415 refuses a build without traces

    paths = tuple(str(path) for path in sorted(folder.glob("*.parquet")))
    if not paths:
        return ()  # a host too busy to issue any within the time of a step
    out = folder.with_suffix(".csv")
    write(Input(paths), "msr", out, lambda _ios: None)
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


class Measurement(Struct, frozen=True):
    """The same I/Os as a sample, one by one, and by when each was answered (CLOCK_MONOTONIC_RAW, ns)."""

    sample: Sample
    captured: tuple[CapturedIo, ...]
    answers: tuple[int, ...]


def measure_planted(ios: int, folder: Path) -> Measurement:
    """Measure so many delays of the law; the capture is ``folder``, which is made.

    Raises EngineUnavailableError where there is no io_uring, RunFailedError if the engine gives no sample.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        options = NativeOptions(interval_ns=_INTERVAL_NS, capture=CaptureSettings(folder, 512))
        engine = engine_on(reader, GIB, Demand(1, 1, _BYTES), options)
        stimulus = Stimulus.of(AccessPattern.RANDOM, _BYTES, 100, 1, 1, ActiveRange())
        answers: list[tuple[int, ...]] = []
        thread = threading.Thread(target=lambda: answers.append(_answer(writer, ios)), daemon=True)
        engine.submit([Step.of(stimulus, IoCount(ios), capture=True)])
        thread.start()
        sample = engine.poll(_PATIENCE_S + ios * fmean(_LAW_NS) / NS_PER_S)
        engine.finish()
        thread.join(_PATIENCE_S)
    finally:
        os.close(writer)
        os.close(reader)
    if sample is None or not answers:
        raise RunFailedError("the engine gave no sample of a pipe that answers")
    return Measurement(sample, captured_in(folder), answers[0])


def _answer(writer: int, ios: int) -> tuple[int, ...]:
    """Answer on time by the law, later where this thread was not run."""
    content = bytes(_BYTES)
    answers = []
    due_ns = time.monotonic_ns()
    for number in range(ios):
        due_ns = max(due_ns, time.monotonic_ns() - NS_PER_MS) + _LAW_NS[number % len(_LAW_NS)]
        while (left_ns := due_ns - time.monotonic_ns()) > 0:
            time.sleep(left_ns / NS_PER_S)
        answers.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
        os.write(writer, content)
    return tuple(answers)


def judge_path(measured: Measurement) -> SelfTestFinding:
    """Each captured response time against its own delay, and the engine's clock against ours.

    Other work on the host makes I/Os late, and so not all have to agree: with a wrong instrument none does.
    """
    before_ns = measured.answers
    found = Expectations()
    found.equal("captured I/Os", len(measured.captured), len(before_ns))
    pairs = [
        (later - earlier, io.latency_ns)
        for (earlier, later), io in zip(pairwise(before_ns), measured.captured[1:], strict=False)
    ]
    agreeing_pct = {}
    for name, is_long in (("short", False), ("long", True)):
        some = [pair for pair in pairs if (pair[0] > _BETWEEN_NS) is is_long]
        agree = sum(abs(latency_ns - gap_ns) <= _PATH_NS + _WITHIN * gap_ns for gap_ns, latency_ns in some)
        agreeing_pct[name] = 100 * agree / max(1, len(some))
        found.holds(
            f"{agree} of {len(some)} {name} delays agree", agree > 0 and agreeing_pct[name] >= _LEAST_PCT
        )
    seen = [io.completed_ns - at_ns for io, at_ns in zip(measured.captured, before_ns, strict=False)]
    quarter = len(seen) // 4
    drift_ns = min(seen[-quarter:]) - min(seen[:quarter])
    lasted_ns = before_ns[-1] - before_ns[0]
    found.near("drift of the engine's clock (ns)", drift_ns, 0, NS_PER_MS + _MOST_PPM * 1e-6 * lasted_ns)
    figures = {
        "median_error_us": median(latency_ns - gap_ns for gap_ns, latency_ns in pairs) / 1000,
        "late_median_us": (median(seen) - min(seen)) / 1000,
        "drift_us": drift_ns / 1000,
        **{f"{name}_agree_pct": share for name, share in agreeing_pct.items()},
    }
    text = f"{len(before_ns):,} reads of a pipe that answers after 1 and 5 ms"
    return found.finding("known delays", text, figures)


def judge_histogram(measured: Measurement) -> SelfTestFinding:
    """The figures of the sample against those of every captured I/O."""
    found = Expectations()
    found.equal("state", measured.sample.state, StepState.COMPLETE)
    worst_pct = judge_sample(found, measured.sample, measured.captured)
    judge_length(found, measured.sample, measured.captured)
    shown = {"ios": float(len(measured.captured)), "largest_difference_pct": worst_pct}
    text = f"against {len(measured.captured):,} I/Os that were captured one by one"
    return found.finding("histogram", text, shown)


class ClockReading(Struct, frozen=True):
    """All clocks at one moment, ns; ``width_ns`` is how far apart the readings lie."""

    monotonic_ns: int
    raw_ns: int
    real_ns: int
    width_ns: int

    @classmethod
    def now(cls) -> "ClockReading":
        """The tightest of some readings, so that one that was interrupted does not count."""
        return min((cls._once() for _ in range(_TRIES)), key=lambda reading: reading.width_ns)

    @classmethod
    def _once(cls) -> "ClockReading":
        first_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        real_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        last_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return cls((first_ns + last_ns) // 2, raw_ns, real_ns, last_ns - first_ns)


def judge_clocks(first: ClockReading, last: ClockReading) -> SelfTestFinding:
    """Rates of CLOCK_MONOTONIC_RAW and CLOCK_REALTIME against CLOCK_MONOTONIC between two readings."""
    span_ns = last.monotonic_ns - first.monotonic_ns
    raw_ppm = _PER_MILLION * ((last.raw_ns - first.raw_ns) / span_ns - 1)
    real_ppm = _PER_MILLION * ((last.real_ns - first.real_ns) / span_ns - 1)
    within_ppm = _LARGEST_PPM + _PER_MILLION * (_JITTER_NS + first.width_ns + last.width_ns) / span_ns
    found = Expectations()
    found.near("rate of CLOCK_MONOTONIC_RAW against CLOCK_MONOTONIC (ppm)", raw_ppm, 0, within_ppm)
    found.near("rate of CLOCK_REALTIME against CLOCK_MONOTONIC (ppm)", real_ppm, 0, within_ppm)
    figures = {"span_s": span_ns / NS_PER_S, "raw_ppm": raw_ppm, "real_ppm": real_ppm}
    text = f"CLOCK_MONOTONIC against RAW and REALTIME over {span_ns / NS_PER_S:.1f} s"
    return found.finding("clocks", text, figures)


def check(seconds: float, folder: Path) -> tuple[SelfTestFinding, ...]:
    """Known delays, and the histogram of the same I/Os. Raises EngineUnavailableError without io_uring."""
    ios = max(_FEWEST, round(seconds * NS_PER_S / fmean(_LAW_NS)))
    measured = measure_planted(ios, folder / "delays")
    return judge_path(measured), judge_histogram(measured)
