"""A drive whose response times follow a script, in virtual time: what is measured must be the script."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from openpts.analysis.figures import Figures
from openpts.engine.options import Demand, NativeOptions
from openpts.engine.simulated import SimulatedDrive
from openpts.simulation.presets import Preset
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import IoCount
from openpts_line.selfcheck.captured import SEED, samples_of
from openpts_line.selfcheck.finding import Expectations, Finding

_LAW: Final = ((700, 100_000), (200, 400_000), (90, 1_000_000), (10, 2_000_000))
"""Of 1,000 I/Os in a row so many take so long (ns)."""
_LEVELS: Final = ((1, 100_000), (70, 100_000), (70.1, 400_000), (90, 400_000), (99, 1_000_000))
_PERIODS: Final = 3
_BYTES: Final = 4 * KIB


def check(_folder: Path) -> Finding:
    """A law of response times: counts, rates, mean, extremes and percentiles of the sample are the law's."""
    sample = _measured_law()
    ios = 1000 * _PERIODS
    sum_ns = _PERIODS * sum(count * latency_ns for count, latency_ns in _LAW)
    figures = Figures.of(sample.transfers, sample.elapsed_ns)
    found = Expectations()
    found.equal("I/Os", (sample.ios, figures.ios, figures.distribution.count), (ios, ios, ios))
    found.equal("bytes", sample.bytes, ios * _BYTES)
    found.holds(f"reads: {sample.read.ios}, and not about half", abs(sample.read.ios - ios / 2) < ios / 10)
    found.equal("sum (ns)", (sample.read.latency_sum_ns + sample.write.latency_sum_ns), sum_ns)
    found.equal("time (ns)", sample.elapsed_ns, sum_ns)
    found.equal("mean (ns)", (sample.mean_latency_ns, figures.mean_latency_ns), (sum_ns / ios,) * 2)
    found.equal("minimum (ns)", (sample.min_latency_ns, figures.min_latency_ns), (_LAW[0][1],) * 2)
    found.equal("maximum (ns)", (sample.max_latency_ns, figures.max_latency_ns), (_LAW[-1][1],) * 2)
    for rate in (sample.iops, figures.iops):
        found.near("IOPS", rate, ios * NS_PER_S / sum_ns, 1e-6)
    bandwidth = ios * _BYTES * NS_PER_S / sum_ns
    found.near("bandwidth (bytes/s)", sample.bandwidth_bytes_per_s, bandwidth, 1e-3)
    for percentile, wanted_ns in _LEVELS:
        value_ns = figures.percentile_ns(percentile)
        found.near(f"{percentile:g} % (ns)", value_ns, wanted_ns, 0.001 * wanted_ns)
    found.equal("I/Os of the intervals", sum(interval.ios for interval in sample.intervals), ios)
    text = f"{ios:,} I/Os of a drive whose response times follow a law, in virtual time"
    return found.finding("virtual drive", text, {"mean_us": sum_ns / ios / 1000, "iops": sample.iops})


def drive_of_the_law(capacity_bytes: int) -> SimulatedDrive:
    """New from its maker."""
    preset = Preset((files(__package__) / "law.toml").read_text())
    return SimulatedDrive(preset, path="sim:law", capacity_bytes=capacity_bytes, scale=1, seed=SEED)


def _measured_law() -> Sample:
    engine = drive_of_the_law(16 * MIB).engine(Demand(1, 1, _BYTES), SEED, NativeOptions())
    stimulus = Stimulus.of(AccessPattern.RANDOM, _BYTES, 50, 1, 1, ActiveRange())
    return samples_of(engine, [Step.of(stimulus, IoCount(1000 * _PERIODS))])[0]
