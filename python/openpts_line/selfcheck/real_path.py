"""Delays that are known, through the kernel and the engine: a pipe whose other end answers on time.

Each read of the engine waits until a thread of this process writes into the pipe, by a law that is planted.
When it did so is known by a clock that the engine does not read; each I/O is captured beside the histogram.
"""

import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.engine.options import CaptureOrder, Demand, NativeOptions
from openpts.errors import RunFailedError
from openpts.units import GIB, KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Batches, ClosedLoop, Step, Stimulus
from openpts.vocabulary.stop import IoCount
from openpts_line.selfcheck.captured import (
    PATIENCE_S,
    TICK_NS,
    CapturedIo,
    captured_in,
    engine_on,
    judge_length,
    judge_sample,
)
from openpts_line.selfcheck.finding import Expectations, Finding

_BYTES: Final = 4 * KIB  # what a pipe takes or gives at once
_LAW_NS: Final = (*(NS_PER_MS,) * 9, 5 * NS_PER_MS)
_BETWEEN_NS: Final = 3 * NS_PER_MS
_WITHIN: Final = 0.01
_LEAST_PCT: Final = 5.0
_PATH_NS: Final = 50_000
_FEWEST: Final = 100
_INTERVAL_NS: Final = 2 * NS_PER_MS
"""Shorter than the longest delay, so that nothing is answered in some."""
_BATCHES: Final = Batches(ios=2, rest_ns=NS_PER_MS // 2)
_MOST_PPM: Final = 200


class Measurement(Struct, frozen=True):
    """The same I/Os as a sample, one by one, and by when each was answered (CLOCK_MONOTONIC_RAW, ns)."""

    sample: Sample
    captured: tuple[CapturedIo, ...]
    answers: tuple[int, ...]


def measure_planted(ios: int, folder: Path, batches: Batches | None = None) -> Measurement:
    """Measure so many delays of the law; the capture is ``folder``, which is made.

    Raises EngineUnavailableError where there is no io_uring, RunFailedError if the engine gives no sample.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        options = NativeOptions(interval_ns=_INTERVAL_NS, capture=CaptureOrder(folder, 512))
        depth = 1 if batches is None else batches.ios
        engine = engine_on(reader, GIB, Demand(1, depth, _BYTES), options)
        plain = Stimulus.of(AccessPattern.RANDOM, _BYTES, 100, 1, depth, ActiveRange())
        stimulus = replace(plain, pacing=batches or ClosedLoop())
        answers: list[tuple[int, ...]] = []
        thread = threading.Thread(target=lambda: answers.append(_answer(writer, ios)), daemon=True)
        engine.submit([Step.of(stimulus, IoCount(ios), capture=True)])
        thread.start()
        sample = engine.poll(PATIENCE_S + ios * fmean(_LAW_NS) / NS_PER_S)
        engine.finish()
        thread.join(PATIENCE_S)
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


def judge_histogram(measured: Measurement) -> Finding:
    """The figures of the sample against those of every captured I/O."""
    found = Expectations()
    found.equal("state", measured.sample.state, StepState.COMPLETE)
    worst_pct = judge_sample(found, measured.sample, measured.captured)
    judge_length(found, measured.sample, measured.captured)
    shown = {"ios": float(len(measured.captured)), "largest_difference_pct": worst_pct}
    text = f"against {len(measured.captured):,} I/Os that were captured one by one"
    return found.finding("histogram", text, shown)


def judge_batches(measured: Measurement) -> Finding:
    """A batch begins when all of the one before are answered, and it has rested."""
    found, ios, each = Expectations(), measured.captured, _BATCHES.ios
    batches = [ios[first : first + each] for first in range(0, len(ios), each)]
    rests_ns = [
        later[0].submitted_ns - max(io.completed_ns for io in batch) for batch, later in pairwise(batches)
    ]
    found.holds(f"a rest of {min(rests_ns)} ns", min(rests_ns) >= _BATCHES.rest_ns - 2 * TICK_NS)
    text = f"{len(batches)} batches of reads of that pipe, each with a rest before it"
    return found.finding("batches", text)


def check(seconds: float, folder: Path) -> tuple[Finding, ...]:
    """Known delays, the histogram of the same I/Os, and batches.

    Raises EngineUnavailableError without io_uring.
    """
    ios = max(_FEWEST, round(seconds * NS_PER_S / fmean(_LAW_NS)))
    measured = measure_planted(ios, folder / "delays")
    batches = measure_planted(_FEWEST // 2, folder / "batches", _BATCHES)
    return judge_path(measured), judge_histogram(measured), judge_batches(batches)
