"""Whether a drive that is left alone has come to rest, judged from short observations."""

from collections.abc import Sequence

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.units import MB, NS_PER_S
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.settling import SettlingRule

_TAIL_PCT = 99.0


class IdleObservation(Struct, frozen=True):
    """One look: ``at_ns`` is the idle time before it, all together. Median and ``tail_ns``, the 99th
    percentile, are those of its reads, None without any.

    ``temperature_c``, and ``nand_write_bytes`` since the drive was made, are None where the drive does not
    report them.
    """

    at_ns: int
    median_ns: int | None
    tail_ns: int | None
    temperature_c: float | None = None
    nand_write_bytes: float | None = None


class Settling(Struct, frozen=True):
    """The judgement of the last looks; ``restless`` names what still changes, empty if nothing does.

    Ranges are in per cent of the mean of the looks, that of temperature in K, and writes to the media per
    second of idle time; None where there is nothing to judge.
    """

    settled: bool
    restless: str
    median_range_pct: float | None = None
    tail_range_pct: float | None = None
    range_k: float | None = None
    nand_bytes_per_s: float | None = None


def look_of(idle_ns: int, probe: Sample, reading: HealthReading) -> IdleObservation:
    """The result of one look, after so much idle time."""
    histogram = probe.read.histogram
    latencies = LatencyDistribution.merged([histogram] if histogram else [])
    return IdleObservation(
        idle_ns,
        latencies.percentile_ns(50),
        latencies.percentile_ns(_TAIL_PCT),
        reading.values.get("temperature_c"),
        reading.values.get("nand_write_bytes"),
    )


def judge(looks: Sequence[IdleObservation], rule: SettlingRule) -> Settling:
    """Whether the drive has come to rest by the rule, after all looks so far."""
    window = looks[-rule.looks :]
    if len(window) < rule.looks:
        return Settling(settled=False, restless=f"{len(window)} of {rule.looks} looks")
    median_pct = _range_pct([one.median_ns for one in window])
    tail_pct = _range_pct([one.tail_ns for one in window])
    range_k = _range([one.temperature_c for one in window])
    nand_bytes_per_s = _nand_bytes_per_s(window)
    restless = [
        f"{what} within {value:.3g} {unit}, not {limit:g}"
        for what, value, limit, unit in (
            ("median", median_pct, rule.median_within_pct, "%"),
            ("99 %", tail_pct, rule.tail_within_pct, "%"),
            ("temperature", range_k, rule.within_k, "K"),
            (
                "NAND writes",
                None if nand_bytes_per_s is None else nand_bytes_per_s / MB,
                rule.nand_within_bytes_per_s / MB,
                "MB/s",
            ),
        )
        if value is not None and value > limit
    ]
    if median_pct is None and range_k is None:
        restless.append("neither response times nor a temperature to judge by")
    if not restless and window[-1].at_ns < rule.least_ns:
        restless.append("less idle time than asked for")
    return Settling(not restless, "; ".join(restless), median_pct, tail_pct, range_k, nand_bytes_per_s)


def _nand_bytes_per_s(window: Sequence[IdleObservation]) -> float | None:
    """What the drive wrote by itself between the first look of the window and the last."""
    first, last = window[0], window[-1]
    if first.nand_write_bytes is None or last.nand_write_bytes is None or last.at_ns <= first.at_ns:
        return None
    return (last.nand_write_bytes - first.nand_write_bytes) * NS_PER_S / (last.at_ns - first.at_ns)


def _range_pct(values: Sequence[float | None]) -> float | None:
    spread = _range(values)
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    return None if spread is None or mean == 0 else 100 * spread / mean


def _range(values: Sequence[float | None]) -> float | None:
    """Largest less smallest; None if one is missing: unknown values can't be called still."""
    known = [value for value in values if value is not None]
    return max(known) - min(known) if known and len(known) == len(values) else None
