"""Delays that are known, through the kernel and the engine: a pipe whose other end answers on time.

Each read of the engine waits until a thread of this process writes into the pipe, by a law that is planted.
When it did so is known by a clock that the engine does not read; each I/O is captured beside the histogram.
"""

import os
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Final

from msgspec import Struct

from openpts.analysis.figures import Figures
from openpts.engine.native import NativeEngine
from openpts.engine.native_build import FEATURES
from openpts.engine.options import CaptureOrder, Demand, IoPath, NativeOptions
from openpts.errors import EngineUnavailableError, RunFailedError
from openpts.units import GIB, KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import IoCount
from openpts_line.selfcheck.finding import Expectations, Finding, Verdict

_BYTES: Final = 4 * KIB  # what a pipe takes or gives at once
_LAW_NS: Final = (*(NS_PER_MS,) * 9, 5 * NS_PER_MS)
_BETWEEN_NS: Final = 3 * NS_PER_MS
_WITHIN: Final = 0.05
"""Part of a figure by which other work on this host may shift it."""
_PATH_NS: Final = 50_000
_FEWEST: Final = 100
_PATIENCE_S: Final = 30.0
_CAPTURE: Final = "capture"
_TICK_NS: Final = 100  # of the file that the captured I/Os are read from
_PERCENTILES: Final = (1.0, 50.0, 80.0, 90.0, 95.0, 99.0)


class Answers(Struct, frozen=True):
    """When each answer was given: between ``before_ns`` and ``after_ns``, CLOCK_MONOTONIC."""

    before_ns: tuple[int, ...]
    after_ns: tuple[int, ...]

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """The delay of each answer behind the one before."""
        return tuple(later - earlier for earlier, later in pairwise(self.before_ns))


class CapturedIo(Struct, frozen=True):
    """One I/O as the capture has it, on the engine's clock."""

    submitted_ns: int
    latency_ns: int


class Measurement(Struct, frozen=True):
    """The same I/Os three times: as a sample, one by one, and as the answers were given."""

    sample: Sample
    captured: tuple[CapturedIo, ...] | None
    answers: Answers


def ios_within(seconds: float) -> int:
    """How many I/Os of the law fit into so many seconds; not fewer than can be judged."""
    return max(_FEWEST, round(seconds * NS_PER_S / fmean(_LAW_NS)))


def measure_planted(ios: int, folder: Path) -> Measurement:
    """Measure so many delays of the law; the capture is below ``folder``.

    Raises EngineUnavailableError where there is no io_uring, RunFailedError if the engine gives no sample.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        target = TargetFacts(
            kind=TargetKind.FILE, name="pipe", path="pipe", user_capacity_bytes=GIB, sector_bytes=512
        )
        options = NativeOptions(io_path=IoPath.IO_URING, capture=CaptureOrder(folder / _CAPTURE, 512))
        engine = NativeEngine(reader, target, Demand(1, 1, _BYTES), 1, options)
        stimulus = Stimulus.of(AccessPattern.RANDOM, _BYTES, 100, 1, 1, ActiveRange())
        answers: list[Answers] = []
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
    return Measurement(sample, _captured(folder), answers[0])


def _answer(writer: int, ios: int) -> Answers:
    """Answer on time by the law, later where this thread was not run."""
    content = bytes(_BYTES)
    before, after = [], []
    due_ns = time.monotonic_ns()
    for number in range(ios):
        due_ns = max(due_ns, time.monotonic_ns() - NS_PER_MS) + _LAW_NS[number % len(_LAW_NS)]
        while (left_ns := due_ns - time.monotonic_ns()) > 0:
            time.sleep(left_ns / NS_PER_S)
        before.append(time.monotonic_ns())
        os.write(writer, content)
        after.append(time.monotonic_ns())
    return Answers(tuple(before), tuple(after))


def _captured(folder: Path) -> tuple[CapturedIo, ...] | None:
    """All I/Os of the capture, in order; None in a build that reads no traces."""
    if not FEATURES["traces"]:
        return None
    from openpts_traces.treatment import Input, write  # noqa: PLC0415 refuses a build without traces

    out = folder / "captured.csv"
    paths = tuple(str(path) for path in sorted((folder / _CAPTURE).glob("*.parquet")))
    write([Input(paths)], "msr", out, lambda _ios: None)
    rows = [line.split(",") for line in out.read_text().splitlines()]
    found = (CapturedIo(int(row[0]) * _TICK_NS, int(row[6]) * _TICK_NS) for row in rows)
    return tuple(sorted(found, key=lambda io: io.submitted_ns))


def judge_path(measured: Measurement) -> Finding:
    """The engine's response times against the delays that were planted."""
    sample, gaps_ns = measured.sample, measured.answers.gaps_ns
    ios, lasted_ns = len(gaps_ns) + 1, sum(gaps_ns)
    figures = Figures.of([sample.read], sample.elapsed_ns)
    late_ns, drift_ns = _lateness(measured)
    found = Expectations()
    found.equal("state", sample.state, StepState.COMPLETE)
    found.equal("I/Os", sample.ios, ios)
    found.equal("bytes", sample.bytes, ios * _BYTES)
    planted_ns, path_ns = fmean(gaps_ns), late_ns + _PATH_NS
    mean_ns = figures.mean_latency_ns
    found.near("mean (ns)", mean_ns, planted_ns, _WITHIN * planted_ns + path_ns)
    found.near("IOPS", sample.iops, NS_PER_S / planted_ns, _WITHIN * NS_PER_S / planted_ns)
    found.near("drift of the engine's clock (ns)", drift_ns, 0, NS_PER_MS + 1e-3 * lasted_ns)
    median_ns = median(gaps_ns)
    found.near("50 % (ns)", figures.distribution.percentile_ns(50), median_ns, 0.1 * median_ns + path_ns)
    (short,) = figures.distribution.counts_up_to([_BETWEEN_NS])
    wanted = sum(gap_ns <= _BETWEEN_NS for gap_ns in gaps_ns)
    found.near("I/Os of the short delay", short, wanted, 1 + _WITHIN * ios)
    shown = {
        "planted_mean_us": planted_ns / 1000,
        "measured_mean_us": 0.0 if mean_ns is None else mean_ns / 1000,
        "mean_error_us": ((mean_ns or 0) - planted_ns) / 1000,
        "late_median_us": late_ns / 1000,
        "drift_us": drift_ns / 1000,
    }
    return found.finding("known delays", f"{ios:,} reads of a pipe that answers after 1 and 5 ms", shown)


def _lateness(measured: Measurement) -> tuple[float, float]:
    """How much later than the fastest the engine saw the median answer; and how that went from the first
    quarter to the last (ns): a clock of another rate. 0 without a capture.
    """
    if measured.captured is None or len(measured.captured) != len(measured.answers.before_ns):
        return 0.0, 0.0
    seen = [
        io.submitted_ns + io.latency_ns - before_ns
        for io, before_ns in zip(measured.captured, measured.answers.before_ns, strict=True)
    ]
    quarter = len(seen) // 4
    return median(seen) - min(seen), float(min(seen[-quarter:]) - min(seen[:quarter]))


def judge_histogram(measured: Measurement) -> Finding:
    """Counts, sums, extremes and percentiles of the sample against those of every captured I/O."""
    if measured.captured is None:
        why = "the native module was built without traces"
        return Finding(check="histogram", verdict=Verdict.NOT_POSSIBLE, text=why)
    read = measured.sample.read
    raw_ns = sorted(io.latency_ns for io in measured.captured)
    figures = Figures.of([read], measured.sample.elapsed_ns)
    found = Expectations()
    found.equal("I/Os in histogram and capture", figures.distribution.count, len(raw_ns))
    found.equal("I/Os in sample and capture", read.ios, len(raw_ns))
    sum_ns = sum(raw_ns)
    found.near(
        "sum (ns)", read.latency_sum_ns, sum_ns + len(raw_ns) * _TICK_NS / 2, len(raw_ns) * _TICK_NS / 2
    )
    for what, value_ns, wanted_ns in (
        ("minimum (ns)", read.latency_min_ns, raw_ns[0]),
        ("maximum (ns)", read.latency_max_ns, raw_ns[-1]),
    ):
        found.near(what, value_ns, wanted_ns + _TICK_NS / 2, _TICK_NS / 2)
    worst_pct = 0.0
    for percentile in _PERCENTILES:
        wanted_ns = _rank(raw_ns, percentile)
        value_ns = figures.distribution.percentile_ns(percentile)
        found.near(f"{percentile:g} % (ns)", value_ns, wanted_ns, 0.001 * wanted_ns + _TICK_NS)
        worst_pct = max(worst_pct, 100 * abs((value_ns or 0) / wanted_ns - 1))
    in_intervals = sum(interval.read.latency_sum_ns for interval in measured.sample.intervals)
    found.equal("sum of the intervals (ns)", in_intervals, read.latency_sum_ns)
    shown = {"ios": float(len(raw_ns)), "largest_difference_pct": worst_pct}
    return found.finding("histogram", f"against {len(raw_ns):,} I/Os that were captured one by one", shown)


def _rank(in_order: Sequence[int], percentile: float) -> int:
    """The least value that so many per cent do not exceed."""
    return in_order[max(0, -int(-percentile * len(in_order) // 100) - 1)]


def check_path(seconds: float, folder: Path) -> tuple[Finding, Finding]:
    """Known delays, and the histogram of the same I/Os."""
    try:
        measured = measure_planted(ios_within(seconds), folder)
    except EngineUnavailableError as error:
        missing = Finding(check="known delays", verdict=Verdict.NOT_POSSIBLE, text=str(error))
        return missing, Finding(check="histogram", verdict=Verdict.NOT_POSSIBLE, text=str(error))
    return judge_path(measured), judge_histogram(measured)
