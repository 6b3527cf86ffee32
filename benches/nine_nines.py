"""Nine nines, exactly: 2 x 10^9 I/Os of a simulated drive whose latencies are known, one by one.

PTS recommends 1.5 x 10^9 I/Os before 99.9999999 % is stated. Here nothing is sampled: of any 10^9 I/Os in
a row all but ten take 100 us, nine of those take 1 ms, and one takes 10 s. Tells whether the tool finds just
that, and how fast it was.

    .venv/bin/python -m benches.nine_nines

Takes some minutes.
"""

import sys
import time
from typing import Final

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.options import Demand, NativeOptions
from openpts.units import GIB, KIB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, IoCount, Step, Stimulus
from openpts_sim.presets import Preset
from openpts_sim.simulated_engine import SimulatedDrive

PERIOD: Final = 10**9
IOS: Final = 2 * PERIOD
COMMON_NS, RARE_NS, RAREST_NS = 100 * NS_PER_US, NS_PER_MS, 10 * NS_PER_S
HISTOGRAM_ERROR: Final = 1 / 1024
PRESET: Final = f"""
name = "nine-nines"
summary = "of 10^9 I/Os one takes 10 s, and nine take 1 ms"
capacity_bytes = {GIB}

[oracle.rate]
by = "seconds"
every = 1
iops = [1e7]

[oracle.latency]
period = {PERIOD}
factor = 387420489
law = [
  {{ below = {PERIOD - 10}, ns = {COMMON_NS} }},
  {{ below = {PERIOD - 1}, ns = {RARE_NS} }},
  {{ below = {PERIOD}, ns = {RAREST_NS} }},
]
"""


def main() -> int:
    began_s = time.monotonic()
    sample = measured()
    took_s = time.monotonic() - began_s
    print(f"{sample.ios:,} I/Os in {took_s:.0f} s, {sample.ios / took_s / 1e6:.2f} million per second")
    distribution = LatencyDistribution.merged([sample.read.histogram])
    right = sample.ios == IOS and sample.max_latency_ns == RAREST_NS
    for nines in range(2, 10):
        percentile = float(f"99.{'9' * (nines - 2)}" if nines > 2 else "99")
        expected_ns = RARE_NS if nines == 9 else COMMON_NS
        told_ns = distribution.percentile_ns(percentile)
        print(f"{percentile:.10g} %: {told_ns:,} ns, by the law {expected_ns:,} ns")
        right &= distribution.supports(percentile)
        right &= told_ns is not None and abs(told_ns / expected_ns - 1) <= HISTOGRAM_ERROR
    print(f"maximum: {sample.max_latency_ns:,} ns, by the law {RAREST_NS:,} ns")
    print("as it must be" if right else "WRONG")
    return 0 if right else 1


def measured() -> Sample:
    drive = SimulatedDrive(Preset(PRESET), path="sim:nine-nines", capacity_bytes=GIB, scale=1, seed=1)
    options = NativeOptions(interval_ns=3600 * NS_PER_S, interval_histograms=False)
    engine = drive.engine(Demand(1, 1, 4 * KIB), 1, options)
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 1, 1, ActiveRange())
    engine.submit([Step.of(stimulus, IoCount(IOS))])
    while (sample := engine.poll(1.0)) is None:
        pass
    engine.stop()
    return sample


if __name__ == "__main__":
    sys.exit(main())
