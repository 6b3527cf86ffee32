"""Runs whose true figures are known, with noise of a chosen law in their intervals: for how often U holds.

``python -m tests.support.noisy_runs 1000`` prints the table of uncertainty.md; it takes some minutes.

Each run is a made-up one of a test, with rates of a profile in its steps and 2 % of noise in their intervals.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from openpts.analysis.latency import encode_counts
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, StepRecord
from openpts.units import KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.requests import Outcome
from openpts.vocabulary.sample import NOTHING, Interval, OperationSample, Phase, Sample
from openpts_pages.measure import Measured
from tests.support.made_up_run import demand_rate, telling_rate, telling_run, with_samples

Noise = Callable[[float, int, float], NDArray[np.float64]]
"""Noise of so many intervals from a moment on, each of so many seconds; that of a second is 1."""
Profile = Callable[[StepRecord, NDArray[np.float64]], NDArray[np.float64]]
"""IOPS of a step at moments of the run, in seconds."""
Law = Callable[[np.random.Generator], Noise]

TESTS: Final = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")
AMPLITUDE: Final = 0.02
_LASTING_S: Final = 60.0
_TRACKED_NS: Final = 60 * NS_PER_S


def normal(rng: np.random.Generator) -> Noise:
    """Each second on its own."""
    return lambda _start_s, count, step_s: rng.standard_normal(count) / np.sqrt(step_s)


def autoregressive(rng: np.random.Generator) -> Noise:
    """A first-order autoregression of 60 s, which goes on between the steps."""
    last_s, last = 0.0, rng.standard_normal()

    def noise(start_s: float, count: int, step_s: float) -> NDArray[np.float64]:
        nonlocal last_s, last
        found = np.empty(count)
        for place, moment_s in enumerate((start_s + step_s * np.arange(count)).tolist()):
            kept = np.exp(-abs(moment_s - last_s) / _LASTING_S)
            last = kept * last + np.sqrt(1 - kept * kept) * rng.standard_normal()
            last_s, found[place] = moment_s, last
        return found

    return noise


def heavy_tailed(rng: np.random.Generator) -> Noise:
    """Each second lognormal with a sigma of 1, to a mean of 0 and a deviation of 1."""
    mean, deviation = np.exp(0.5), np.sqrt((np.e - 1) * np.e)

    def noise(_start_s: float, count: int, step_s: float) -> NDArray[np.float64]:
        seconds = rng.lognormal(0, 1, (count, round(step_s)))
        return np.asarray((seconds.mean(axis=1) - mean) / deviation, np.float64)

    return noise


LAWS: Final[dict[str, Law]] = {"normal": normal, "AR(1), 60 s": autoregressive, "lognormal": heavy_tailed}


def silent(_start_s: float, count: int, _step_s: float) -> NDArray[np.float64]:
    """No noise: then each figure is the true one."""
    return np.zeros(count)


def _told(step: StepRecord, moments_s: NDArray[np.float64]) -> NDArray[np.float64]:
    (stimulus,) = step.sample.step.stimuli
    return np.full(len(moments_s), telling_rate(stimulus, step.place.phase, step.place.number))


def _demanded(step: StepRecord, moments_s: NDArray[np.float64]) -> NDArray[np.float64]:
    (stimulus,) = step.sample.step.stimuli
    return np.full(len(moments_s), demand_rate(stimulus, step.place.phase, step.place.number))


def _saturating(_step: StepRecord, moments_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """40 minutes of plateau, 10 of a slope, then the end zone."""
    return np.interp(moments_s, (2400, 2400.001, 3000, 3000.001), (80_000, 70_000, 30_000, 20_000))


def _is_key(step: StepRecord) -> bool:
    stimulus = step.sample.step.stimulus
    return step.place.phase is Phase.ROUND and stimulus is not None and stimulus.block_size_bytes == 4 * KIB


@functools.cache
def _base(name: str) -> Run:
    run = telling_run(name)
    if name == "wsat":  # the last tracked minutes are in the end zone
        cycle = run.manifest.cycles[0]
        cycles = (replace(cycle, outcome=replace(cycle.outcome, steady_round=cycle.outcome.last_round)),)
        assert isinstance(cycles[0].outcome, Outcome)
        return replace(run, manifest=replace(run.manifest, cycles=cycles))
    if (
        name == "hir"
    ):  # of the wait states the longest alone is a key value, and a third of its accesses is enough
        kept = (
            step
            for step in run.steps
            if step.place.phase is Phase.WDPC
            or (
                step.place.phase is Phase.WAIT_STATE and step.place.number == 10 and step.place.position < 240
            )
        )
        return replace(run, steps=tuple(kept))
    return run


def noisy_run(name: str, noise: Noise, rng: np.random.Generator) -> tuple[Run, float]:
    """A run of the test, and the moment of the peak that XSR looks for, in minutes behind group 2."""
    run, peak_min = _base(name), 0.0
    match name:
        case "iops" | "tp":
            wanted = _is_key if name == "iops" else lambda step: step.place.phase is Phase.ROUND
            return _measured(run, noise, _told, wanted, 1.0), peak_min
        case "lat":
            return _with_tails(_measured(run, noise, _told, _is_key, 1.0), noise, rng), peak_min
        case "wsat":
            return _measured(run, noise, _saturating, lambda _: True, 10.0), peak_min
        case "hir":
            return _measured(run, noise, _told, lambda step: not step.sample.step.is_idle, 5.0), peak_min
        case "xsr":
            peak_min = float(rng.uniform(5, 475))
            third_s = next(step.sample.started_ns for step in run.steps if step.place.number == 3) / NS_PER_S

            def peaked(step: StepRecord, moments_s: NDArray[np.float64]) -> NDArray[np.float64]:
                inside = np.floor((moments_s - third_s) / 60) == np.floor(peak_min)
                return _told(step, moments_s) * np.where(inside, 1.5, 1.0)

            return _measured(run, noise, peaked, lambda _: True, 60.0), peak_min
        case _:
            wanted = lambda step: step.place.phase is Phase.ROUND  # noqa: E731
            return _measured(run, noise, _demanded, wanted, 5.0), peak_min


def _measured(
    run: Run, noise: Noise, profile: Profile, wanted: Callable[[StepRecord], bool], step_s: float
) -> Run:
    def of(step: StepRecord) -> Sample:
        return _noisy(step, noise, profile, step_s) if wanted(step) else step.sample

    return with_samples(run, of)


def _noisy(step: StepRecord, noise: Noise, profile: Profile, step_s: float) -> Sample:
    sample = step.sample
    (stimulus,) = sample.step.stimuli
    start_s, count = sample.started_ns / NS_PER_S, max(1, round(sample.elapsed_ns / NS_PER_S / step_s))
    if sample.elapsed_ns == _TRACKED_NS and step_s > 1 and step.place.phase is Phase.SATURATION:
        count = 60
    step_s = sample.elapsed_ns / NS_PER_S / count
    rates = profile(step, (start_s + step_s * (np.arange(count) + 0.5)).astype(np.float64))
    rates = rates * (1 + AMPLITUDE * noise(start_s, count, step_s))
    length_ns = sample.elapsed_ns // count
    size_bytes = sample.bytes // sample.ios
    waited_ns = stimulus.toio * length_ns  # so many are outstanding all the time
    parts = [
        OperationSample(ios, ios * size_bytes, waited_ns, 1, waited_ns, b"")
        for ios in np.rint(rates * length_ns / NS_PER_S).astype(int).tolist()
    ]
    ios = sum(part.ios for part in parts)
    return replace(
        sample,
        read=NOTHING,
        write=OperationSample(ios, ios * size_bytes, count * waited_ns, 1, waited_ns, b""),
        interval_ns=length_ns,
        intervals=tuple(
            Interval(
                index=index, elapsed_ns=length_ns, read=NOTHING, write=part, in_flight=1, errors=0, cpu=None
            )
            for index, part in enumerate(parts)
        ),
    )


_TAIL_NS: Final = 100_000
_SLOW: Final = 6  # those beyond so many scales are recorded one by one


def _with_tails(run: Run, noise: Noise, rng: np.random.Generator) -> Run:
    """Response times with an exponential tail, whose scale has the noise of its second."""

    def of(step: StepRecord) -> Sample:
        if not _is_key(step):
            return step.sample
        sample = step.sample
        seconds = round(sample.elapsed_ns / NS_PER_S)
        scales_ns = _TAIL_NS * (1 + AMPLITUDE * noise(sample.started_ns / NS_PER_S, seconds, 1.0))
        slow = rng.poisson(sample.ios / seconds * np.exp(-_SLOW), seconds)
        places = np.repeat(scales_ns, slow) * (_SLOW + rng.exponential(1, slow.sum()))
        others = np.full(seconds, sample.ios // seconds) - slow
        found = zip(
            [*scales_ns.tolist(), *places.tolist()], [*others.tolist(), *[1] * len(places)], strict=True
        )
        histogram = encode_counts((round(at_ns), ios) for at_ns, ios in found)
        longest_ns = round(float(places.max()) + 1)
        return replace(sample, write=replace(sample.write, histogram=histogram, latency_max_ns=longest_ns))

    return with_samples(run, of)


def true_value(one: Measured, silent_values: dict[str, float], peak_min: float) -> float:
    """What a measure would be without noise."""
    if one.key.endswith("_nines"):
        return _TAIL_NS * float(np.log(100_000 if "five" in one.key else 1_000)) / NS_PER_MS
    if one.key == "recovery_to_peak":
        return peak_min
    if one.point.startswith("TC"):
        tc, qd = (int(word.split()[1]) for word in one.point.split(",")[0].split(" / "))
        iops = 1000.0 * min(tc * qd, 16)
        return iops if one.unit == "IOPS" else tc * qd / iops * 1000
    return silent_values[one.key]


def key_values(name: str, noise: Noise, rng: np.random.Generator) -> tuple[dict[str, Measured], float]:
    """Key values of a noisy run by their keys, and the moment of its peak."""
    run, peak_min = noisy_run(name, noise, rng)
    return {one.key: one for one in PROCEDURES[name].report(run).measures if one.is_key}, peak_min


def coverages(name: str, law: Law, runs: int, seed: int = 1) -> dict[str, tuple[int, int]]:
    """Of each key value: in how many runs U held the true one, and in how many it was stated."""
    rng = np.random.default_rng(seed)
    true = {key: one.value or 0.0 for key, one in key_values(name, silent, rng)[0].items()}
    found: dict[str, list[bool]] = {}
    for _ in range(runs):
        for key, held in _held(name, law(rng), rng, true):
            found.setdefault(key, []).append(held)
    return {key: (sum(held), len(held)) for key, held in found.items()}


def _held(name: str, noise: Noise, rng: Any, true: dict[str, float]) -> Iterator[tuple[str, bool]]:
    measures, peak_min = key_values(name, noise, rng)
    for key, one in measures.items():
        expanded = None if one.uncertainty is None else one.uncertainty.expanded
        if one.value is not None and expanded is not None:
            yield key, abs(one.value - true_value(one, true, peak_min)) <= expanded


def table(runs: int) -> Iterator[str]:
    """Lines of Markdown: per cent of the runs whose interval held the true value."""
    yield f"| Test | Key value | {' | '.join(LAWS)} |"
    yield f"|---|---|{'---|' * len(LAWS)}"
    for name in TESTS:
        found = [coverages(name, law, runs) for law in LAWS.values()]
        for key in found[0]:
            shares = (f"{100 * held / stated:.1f}" for held, stated in (of_law[key] for of_law in found))
            yield f"| {name.upper()} | `{key}` | {' | '.join(shares)} |"


if __name__ == "__main__":
    for line in table(int(sys.argv[1])):
        sys.stdout.write(f"{line}\n")
