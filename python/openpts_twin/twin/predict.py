"""What a twin predicts of a test: the test itself on the twin and on its alternatives, in virtual time."""

import math
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.api import measures, run_test
from openpts.record.reader import Run
from openpts.run_folder_files import write_files
from openpts.runs.reference import percentile_of, words_of
from openpts.simulation.presets import load_preset
from openpts.units import NS_PER_MS, per_second
from openpts.vocabulary.sample import Sample, StepState
from openpts_twin.documents import Prediction
from openpts_twin.twin.evidence import PERCENTILES, percentiles_ns
from openpts_twin.twin.parameters import preset_of
from openpts_twin.twin.twin_file import Fit

_COVERAGE: Final = 1.96
# that of Student's distribution where a deviation is known from the twin and so many alternatives
_OF_FEW: Final = {2: 4.303, 4: 2.776}
_TAILS: Final = ("p99", "p99.9")
_NUMBERED: Final = frozenset({"wait_state", "access_group"})
# of the simulated drive itself, not of the load
_APART: Final = ("energy.", "media.")


class Quantity(Struct, frozen=True):
    """A value of a run; ``kind`` is what a fit knows the error of."""

    label: str
    unit: str
    kind: str
    value: float

    def size_of(self, value: float) -> float:
        """What an error of such a value is a share of: a difference in per cent is one of two whole rates."""
        return 100.0 if self.unit == "%" else abs(value)

    def error_pct(self, value: float, true: float) -> float | None:
        """How far a value is off, in per cent of the true one (None of 0), or what per cent differ by."""
        return 100 * (value - true) / size if (size := self.size_of(true)) else None


def predict(
    test: str,
    preset: str,
    options: Sequence[str],
    out: Path,
    *,
    load: str | None = None,
    fit: Fit | None,
    scale: int | None,
    against: Run | None,
    tell: Callable[[str], None],
) -> tuple[Prediction, ...]:
    """Run the test on a twin and on its alternatives, each in a folder of ``out``; the median is the value.

    ``load`` is the trace or job that the test is to apply. Raises RunFailedError where `openpts run` does not
    end well, which has said why.
    """
    applied = () if load is None else (load,)
    at_scale = "" if scale is None else f"?scale={scale}"

    def shown(place: str, name: str, *seed: str) -> Mapping[str, Quantity]:
        tell(f"{test} on {name}")
        target = f"sim:{place}{at_scale}"
        return quantities(run_test(test, *applied, target, *options, *seed, out=out / name))

    found = [shown(preset, "twin")]
    for number, change in enumerate(fit.alternatives if fit else (), 1):
        name = f"alternative-{number}"
        text = preset_of(tomllib.loads(load_preset(preset).text), change).text
        write_files(out, {f"{name}.toml": text.encode()})
        # an alternative has a seed of its own: what chance does to a figure is in no fit
        found.append(shown(f"{out / name}.toml", name, "--seed", str(number)))
    measured = quantities(against) if against else {}
    return tuple(_predicted(key, found, fit, measured.get(key)) for key in found[0])


def _predicted(
    key: str, found: Sequence[Mapping[str, Quantity]], fit: Fit | None, measured: Quantity | None
) -> Prediction:
    """The median of all, as each is the drive as it may be, with a seed of its own."""
    own = found[0][key]
    values = [one[key].value if key in one else own.value for one in found]
    value = median(values)
    half = None
    if fit is not None:
        others = len(values) - 1
        variance = sum((each - value) ** 2 for each in values) / others
        # the drive differs from what is expected of it as much as one of so many, and these do together
        by_chance = _OF_FEW[others] * math.sqrt(variance * (1 + 1 / len(values)))
        of_model = fit.error_pct.get(own.kind, 0.0) / 100 * own.size_of(value)
        half = math.hypot(by_chance, _COVERAGE * of_model)
    known = None if measured is None else measured.value
    least = -math.inf if own.unit == "%" else 0.0
    return Prediction(
        key=key,
        label=own.label,
        unit=own.unit,
        value=value,
        low=None if half is None else max(least, value - half),
        high=None if half is None else value + half,
        measured=known,
        error_pct=None if known is None else own.error_pct(value, known),
    )


def quantities(run: Run) -> dict[str, Quantity]:
    """Results of a run that a twin predicts: its measures, and of each phase rate and percentiles."""
    found: dict[str, Quantity] = {}
    for measure in measures(run):
        if measure.comparable is not None and not measure.key.startswith(_APART):
            kind = {"ms": kind_of_time(measure.key), "min": "course"}.get(measure.unit, "rate")
            found[measure.key] = Quantity(measure.label, measure.unit, kind, measure.comparable)
    for name, samples in _phases(run).items():
        found.update(_of_phase(name, samples))
    return found


def kind_of_time(key: str) -> str:
    """What a fit has the error of a response time under: the nearest of its percentiles."""
    percentiles = [found for word in words_of(key) if (found := percentile_of(word)) is not None]
    if not percentiles:
        return "mean"
    return min(
        PERCENTILES, key=lambda kind: abs(math.log((100 - PERCENTILES[kind]) / (100 - percentiles[0])))
    )


def _phases(run: Run) -> Mapping[str, list[Sample]]:
    """Steps of one load that differ in their number alone: rounds by their stimulus, waits by their state."""
    found = defaultdict[str, list[Sample]](list)
    for step in run.steps:
        sample = step.sample
        if sample.ios and sample.state is StepState.COMPLETE and sample.step.stimulus is not None:
            phase = step.place.phase.value
            number = f" {step.place.number}" if phase in _NUMBERED else ""
            found[f"{phase.replace('_', ' ')}{number}: {sample.step.stimulus}"].append(sample)
    return found


def _of_phase(name: str, samples: Sequence[Sample]) -> Iterator[tuple[str, Quantity]]:
    rate = per_second(sum(one.ios for one in samples), sum(one.elapsed_ns for one in samples))
    yield f"{name}.iops", Quantity(f"{name}, IOPS", "IOPS", "rate", rate)
    histograms = [one.histogram for sample in samples for one in sample.transfers if one.histogram]
    distribution = LatencyDistribution.merged(histograms)
    for label, value_ns in percentiles_ns(distribution):
        if label in _TAILS:
            key = f"{name}.{label}"
            yield key, Quantity(f"{name}, {label}", "ms", label, value_ns / NS_PER_MS)
