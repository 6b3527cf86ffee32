"""Pauses of HIR that were too long, found in a run made up for it."""

import pytest
from msgspec.structs import replace

from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_MS
from openpts.vocabulary.phase import Phase
from tests.support.findings import findings
from tests.support.made_up_run import made_up_run

RULES = {1: "PTS-HIR-12", 2: "PTS-HIR-13", 3: "PTS-HIR-14", 5: "PTS-HIR-15", 10: "PTS-HIR-16"}


@pytest.fixture(scope="module")
def run() -> Run:
    return made_up_run("hir")


def with_a_late_start(run: Run, state: int, late_ns: int) -> Run:
    """The second burst of a wait state begins so much late."""

    def moved(step: StepRecord) -> StepRecord:
        place = step.place
        if (place.phase, place.number, place.position) != (Phase.WAIT_STATE, state, 2):
            return step
        return replace(step, sample=replace(step.sample, started_ns=step.sample.started_ns + late_ns))

    return replace(run, steps=tuple(moved(step) for step in run.steps))


@pytest.mark.proves("PTS-HIR-12..16")
@pytest.mark.parametrize(("state", "rule_id"), RULES.items())
def test_a_late_edge_is_entered_under_the_requirement_of_its_wait_state(
    run: Run, state: int, rule_id: str
) -> None:
    assert findings(run) == ()
    assert findings(with_a_late_start(run, state, 9 * NS_PER_MS)) == ()
    late = findings(with_a_late_start(run, state, 11 * NS_PER_MS))
    assert {entry.rule_id for entry in late} == {rule_id}
