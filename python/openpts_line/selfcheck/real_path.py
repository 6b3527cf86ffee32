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
_WITHIN: Final = 0.01
_LEAST_PCT: Final = 5.0
_PATH_NS: Final = 50_000
_FEWEST: Final = 100
_PATIENCE_S: Final = 30.0
_CAPTURE: Final = "capture"
_TICK_NS: Final = 100  # of the file that the captured I/Os are read from
_PERCENTILES: Final = (1.0, 50.0, 80.0, 90.0, 95.0, 99.0)


class CapturedIo(Struct, frozen=True):
    """One I/O as the capture has it, on the engine's clock."""

    submitted_ns: int
    latency_ns: int


class Measurement(Struct, frozen=True):
    """The same I/Os as a sample, one by one, and by when each was answered (CLOCK_MONOTONIC, ns)."""

    sample: Sample
    captured: tuple[CapturedIo, ...]
    answers: tuple[int, ...]


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
    return Measurement(sample, _captured(folder), answers[0])


def _answer(writer: int, ios: int) -> tuple[int, ...]:
    """Answer on time by the law, later where this thread was not run."""
    content = bytes(_BYTES)
    answers = []
    due_ns = time.monotonic_ns()
    for number in range(ios):
        due_ns = max(due_ns, time.monotonic_ns() - NS_PER_MS) + _LAW_NS[number % len(_LAW_NS)]
        while (left_ns := due_ns - time.monotonic_ns()) > 0:
            time.sleep(left_ns / NS_PER_S)
        answers.append(time.monotonic_ns())
        os.write(writer, content)
    return tuple(answers)


def _captured(folder: Path) -> tuple[CapturedIo, ...]:
    """All I/Os of the capture, in order."""
    from openpts_traces.treatment import Input, write  # noqa: PLC0415 refuses a build without traces

    out = folder / "captured.csv"
    paths = tuple(str(path) for path in sorted((folder / _CAPTURE).glob("*.parquet")))
    write([Input(paths)], "msr", out, lambda _ios: None)
    rows = [line.split(",") for line in out.read_text().splitlines()]
    found = (CapturedIo(int(row[0]) * _TICK_NS, int(row[6]) * _TICK_NS) for row in rows)
    return tuple(sorted(found, key=lambda io: io.submitted_ns))


def judge_path(measured: Measurement) -> Finding:
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
    seen = [
        io.submitted_ns + io.latency_ns - at_ns
        for io, at_ns in zip(measured.captured, before_ns, strict=False)
    ]
    quarter = len(seen) // 4
    drift_ns = min(seen[-quarter:]) - min(seen[:quarter])
    lasted_ns = before_ns[-1] - before_ns[0]
    found.near("drift of the engine's clock (ns)", drift_ns, 0, NS_PER_MS + 1e-3 * lasted_ns)
    figures = {
        "median_error_us": median(latency_ns - gap_ns for gap_ns, latency_ns in pairs) / 1000,
        "late_median_us": (median(seen) - min(seen)) / 1000,
        "drift_us": drift_ns / 1000,
        **{f"{name}_agree_pct": share for name, share in agreeing_pct.items()},
    }
    text = f"{len(before_ns):,} reads of a pipe that answers after 1 and 5 ms"
    return found.finding("known delays", text, figures)


def judge_histogram(measured: Measurement) -> Finding:
    """Counts, sums, extremes and percentiles of the sample against those of every captured I/O."""
    read = measured.sample.read
    raw_ns = sorted(io.latency_ns for io in measured.captured)
    figures = Figures.of([read], measured.sample.elapsed_ns)
    found = Expectations()
    found.equal("state", measured.sample.state, StepState.COMPLETE)
    found.equal("bytes", read.bytes, len(raw_ns) * _BYTES)
    first_ns = min(io.submitted_ns for io in measured.captured)
    elapsed_ns = max(io.submitted_ns + io.latency_ns for io in measured.captured) - first_ns
    found.near("time of the step (ns)", measured.sample.elapsed_ns, elapsed_ns, 2 * _TICK_NS)
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
    why = "" if FEATURES["traces"] else "the native module was built without traces, and reads no capture"
    if not why:
        try:
            measured = measure_planted(ios_within(seconds), folder)
            return judge_path(measured), judge_histogram(measured)
        except EngineUnavailableError as error:
            why = str(error)
    known, histogram = (
        Finding(check=check, verdict=Verdict.NOT_POSSIBLE, text=why)
        for check in ("known delays", "histogram")
    )
    return known, histogram
