"""What a run adds to its uncertainties: the host, what instruments can't tell, digits, a falling level."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.uncertainty import Uncertainty
from openpts_pages.measure import Measured, measure_figures
from openpts_pages.model import Cell
from tests.support.busy_host import SAMPLED, end_s, on_a_host
from tests.support.made_up_run import made_up_run
from tests.support.noisy_runs import TESTS, noisy_run, normal, silent

PARTS = {
    "iops": Phase.ROUND, "tp": Phase.ROUND, "lat": Phase.ROUND, "wsat": Phase.SATURATION, "hir": Phase.WDPC,
    "xsr": Phase.ACCESS_GROUP, "cbw": Phase.ROUND, "dirth": Phase.ROUND,
}  # fmt: skip
"""Where key values of each test are measured."""


def noisy(name: str) -> Run:
    rng = np.random.default_rng(3)
    return noisy_run(name, normal(rng), rng)[0]


def measures(run: Run) -> dict[str, Measured]:
    name = run.manifest.conditions.test
    return {one.key: one for one in PROCEDURES[name].report(run).measures if one.uncertainty is not None}


def busy(run: Run, *spans_s: tuple[float, float]) -> Run:
    """A host whose processors are taken in these spans of time, in seconds from the first step."""
    points = [(0.0, 0.0)]
    for from_s, to_s in spans_s:
        points += [(from_s, 0.0), (to_s, 60.0)]
    return on_a_host(run, SAMPLED, engine_wait_pct=[*points, (end_s(run), 0.0)])


def seconds(run: Run, sample: Sample) -> tuple[float, float]:
    start_ns = sample.started_ns - run.steps[0].sample.started_ns
    return start_ns / NS_PER_S, (start_ns + sample.elapsed_ns) / NS_PER_S


@pytest.mark.parametrize("name", TESTS)
def test_where_the_host_was_the_limit_most_of_the_time_none_is_stated(name) -> None:
    run = noisy(name)
    stated = {key: one.value for key, one in measures(run).items() if one.expanded_uncertainty is not None}
    found = measures(busy(run, (0.0, end_s(run))))
    assert stated
    for key, value in stated.items():
        assert found[key].expanded_uncertainty is None
        note = measure_figures([found[key]])[key]["uncertainty_note"]
        assert re.fullmatch(r"the host was the limit in (100|[89]\d)\.\d % of its time \(processor\)", note)
        assert found[key].value == value


@pytest.mark.parametrize("name", TESTS)
def test_a_limit_of_the_host_counts_where_the_figure_was_measured(name) -> None:
    """The oracle is time that was taken: a twentieth of each step of the part, and all of no other step."""
    run = noisy(name)
    inside = [step.sample for step in run.steps if step.place.phase is PARTS[name]]
    outside = [step.sample for step in run.steps if step.place.phase is not PARTS[name]]
    spans = [seconds(run, one) for one in inside]
    twentieth = busy(run, *((start, start + (end - start) / 20) for start, end in spans))
    assert [one for one in measures(twentieth).values() if "(processor)" in one.reach], name
    if outside and name not in {"wsat", "hir"}:
        elsewhere = measures(busy(run, *(seconds(run, one) for one in outside)))
        assert not [one for one in elsewhere.values() if "processor" in one.reach]
        assert not [one for one in elsewhere.values() if one.uncertainty and "host" in one.uncertainty.reason]


@pytest.mark.parametrize("name", TESTS)
def test_what_repeats_alike_has_no_uncertainty(name) -> None:
    """Of a scatter of nothing it is not said that the figure is known for certain."""
    rng = np.random.default_rng(4)
    found = measures(noisy_run(name, silent, rng)[0])
    for one in found.values():
        assert one.uncertainty is not None
        if one.unit == "min" or one.key == "group3.bandwidth" or one.key.endswith("_nines"):
            continue  # a minute stands out, and tails are drawn
        assert one.expanded_uncertainty is None, one.key
        assert one.uncertainty.reason, one.key


@pytest.mark.parametrize(
    ("value", "text", "expanded", "shown"),
    [
        (5999.0, "5,999", 313.0, "6,000 ± 310 at 95 %"),
        (5999.4, "5,999", 12.4, "± 12 at 95 %"),
        (40076.2, "40,076", 1999.0, "40,100 ± 2,000 at 95 %"),
        (158.8, "158.8", 79.4, "159 ± 79 at 95 %"),
        (2.50127, "2.50", 0.00123, "2.5013 ± 0.0012 at 95 %"),
        (3.24, "+3.2", 0.51, "3.24 ± 0.51 at 95 %"),
        (3.2, "+3.2", 1.1, "± 1.1 at 95 %"),
        (-0.04, "-0.0", 1.1, "0.0 ± 1.1 at 95 %"),
    ],
)
def test_value_and_uncertainty_end_at_the_same_digit(value, text, expanded, shown) -> None:
    known = Uncertainty(standard=expanded, coverage_factor=1)
    run = PROCEDURES["iops"].report(noisy("iops")).measures[0]
    assert replace(run, cell=Cell(text, value), uncertainty=known).reach == shown


@pytest.mark.parametrize(("kept", "words"), [(0.99, "fell to"), (1.01, "rose to"), (1.0, "")])
def test_steady_state_of_write_saturation_is_of_its_minutes(kept, words) -> None:
    def rate(_stimulus: Stimulus, _phase: Phase, number: int) -> float:
        return 8_000 * kept**number

    found = measures(made_up_run("wsat", rate=rate))
    (steady,) = (one for key, one in found.items() if key.endswith("steady_iops"))
    assert steady.value is not None
    rounds = re.search(r"mean of the minutes of Tracking Rounds (\d+) - (\d+)", steady.note)
    numbers = range(int(rounds[1]), int(rounds[2]) + 1)
    assert steady.value == pytest.approx(np.mean([8_000 * kept**number for number in numbers]), rel=1e-4)
    assert ("then it" in steady.note, words in steady.note) == (bool(words), True)
