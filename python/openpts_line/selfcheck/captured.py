"""I/Os that an engine captured one by one, and the figures of its samples against them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.analysis.figures import Figures
from openpts.vocabulary.sample import Sample
from openpts_line.selfcheck.finding import Expectations

TICK_NS: Final = 100
"""Times are read from a file that has them in whole ticks."""
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
    """A step lasts from its first submission to its last answer."""
    lasted_ns = max(io.completed_ns for io in ios) - min(io.submitted_ns for io in ios)
    found.near("time of the step (ns)", sample.elapsed_ns, lasted_ns, 2 * TICK_NS)
