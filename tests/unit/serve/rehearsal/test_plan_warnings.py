"""What is said about a plan after its rehearsal: each concern at its edge."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.pts.xsr import CrossStimulusConditions
from openpts.record.reader import Run, read_run
from openpts.simulation.presets import load_preset
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts_serve.rehearsal.plan_warnings import PlanConcern, plan_concerns
from openpts_serve.rehearsal.reference_drive import Subject
from tests.support.synthetic_run import Synthetic, write_synthetic_run
from tests.support.transcript import Golden

TB = 10**12


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return read_run(write_synthetic_run(tmp_path / "run", Synthetic(rounds=6, steady_round=6)))


def subject(preset: str = "enterprise-tlc", capacity_bytes: int = TB) -> Subject:
    loaded = load_preset(preset)
    return Subject(loaded.name, capacity_bytes, {}, loaded, "named")


def concern(
    name: str,
    found: Subject,
    run: Run,
    *steps: Step,
    nines: int | None = None,
    tbw_share: float | None = None,
) -> PlanConcern | None:
    matching = [each for each in plan_concerns(found, run, steps, nines, tbw_share) if each.subject == name]
    assert len(matching) <= 1
    return matching[0] if matching else None


def test_nothing_speaks_against_a_full_plan_that_became_steady(run: Run) -> None:
    assert plan_concerns(subject(), run, (), None, 0.01) == ()


def test_a_test_that_looks_for_no_steady_state_misses_none(run: Run) -> None:
    cycles = (CycleFinished(Outcome(None, 0), "fill curve"),)
    assert (
        concern("steady state", subject(), replace(run, manifest=replace(run.manifest, cycles=cycles)))
        is None
    )


def test_a_plan_that_ends_before_steady_state_is_told(run: Run) -> None:
    unsteady = (CycleFinished(Outcome(None, 6)), CycleFinished(Outcome(None, 25), "SEQ 128 KiB"))
    for cycle, words in zip(
        unsteady, ("not reached in 6 rounds:", "in 25 rounds of SEQ 128 KiB:"), strict=True
    ):
        found = concern(
            "steady state", subject(), replace(run, manifest=replace(run.manifest, cycles=(cycle,)))
        )
        assert found is not None
        assert words in found.message


def test_a_test_without_steady_state_does_not_miss_it(run: Run) -> None:
    base = {name: getattr(run.manifest.conditions, name) for name in Conditions.__struct_fields__}
    manifest = replace(
        run.manifest,
        conditions=CrossStimulusConditions(**base, groups=()),
        cycles=(CycleFinished(Outcome(None, 3)),),
    )
    assert concern("steady state", subject(), replace(run, manifest=manifest)) is None


@pytest.mark.parametrize(("seconds", "told"), [(0.2, True), (0.4, False)])
def test_a_step_that_is_short_against_the_buffer_is_told_at_the_drives_own_size(
    run: Run, seconds: float, told: bool, golden: Golden
) -> None:
    # 2 program units a die at 2.88 ms, at a write amplification of 2.48, settle in 14.3 ms; 20 times: 286 ms
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 4, 32, ActiveRange())
    found = concern("step length", subject(), run, Step.of(stimulus, Duration.seconds(seconds)))
    assert (found is not None) == told
    assert (found and found.message) == golden


def test_too_few_ios_for_the_nines_are_told_with_the_worst_test_point(run: Run, golden: Golden) -> None:
    last = [step.sample for step in run.phase(Phase.ROUND, number=6)]
    fewest = min(last, key=lambda sample: sample.iops)
    ios = fewest.iops * 60
    assert 1500 < ios < 1_500_000
    assert concern("nines", subject(), run, nines=3) is None
    assert concern("nines", subject(), run) is None
    found = concern("nines", subject(), run, nines=6)
    assert found is not None
    assert found.message == golden
    assert f"{fewest.step} with {ios:,.0f}" in found.message
    short = sum(sample.iops * 60 < 1_500_000 for sample in last)
    assert f"{short} of 56 test points" in found.message


def test_a_cache_that_preconditioning_does_not_fill_is_told(run: Run, golden: Golden) -> None:
    written = sum(step.sample.write.bytes for step in run.phase(Phase.WIPC))
    # the client drive's cache takes 12.2 % of it
    share = (0.047 * 1.074 + 0.5) / 4.5
    assert concern("cache end", subject("client-qlc", int(written / share * 0.999)), run) is None
    found = concern("cache end", subject("client-qlc", int(written / share * 1.001)), run)
    assert found is not None
    assert found.message == golden
    assert concern("cache end", subject("enterprise-tlc", written * 100), run) is None


def test_an_active_range_that_fits_into_the_cache_is_told(run: Run, golden: Golden) -> None:
    for end_pct, told in ((12.0, True), (12.5, False)):
        conditions = replace(run.manifest.conditions, active_range=ActiveRange(0, end_pct))
        narrow = replace(run, manifest=replace(run.manifest, conditions=conditions))
        found = concern("active range", subject("client-qlc"), narrow)
        assert (found is not None) == told
        assert (found and found.message) == golden


def test_a_run_that_eats_the_endurance_is_told(run: Run, golden: Golden) -> None:
    assert concern("endurance", subject(), run, tbw_share=0.05) is None
    found = concern("endurance", subject(), run, tbw_share=0.06)
    assert found is not None
    assert found.message == golden
