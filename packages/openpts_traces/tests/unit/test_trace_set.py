"""A set of traces in a replay and its score: what is chosen, how many passes, and its arithmetic."""

import hashlib
import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats

from openpts.analysis.latency import LatencyDistribution, encode_counts
from openpts.errors import UsageError
from openpts.fields.field import parameters_of
from openpts.parameters.overrides import Overrides, conditions_of, contradictions, doubts
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run
from openpts.procedures.registry import PROCEDURES
from openpts.trace_schedules import SchedulePlan, prepared
from openpts.units import GB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample, StepPlace, StepState
from openpts.vocabulary.stimulus import Step
from openpts_traces.recipes import recipes
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import passes_to_add, ratios
from openpts_traces.replay.set_report import time_over_s
from openpts_traces.replay.traces import full_set
from tests.support.refusals import refusal

TEST = PROCEDURES["replay"]
STANDARD: ReplayConditions = replace(TEST.standard_conditions(DriveClass.CLIENT, 1), traces=full_set())


def given_words(**values: object) -> ReplayConditions:
    found: ReplayConditions = conditions_of(
        Overrides(values, {name: f"--{name}" for name in values}), STANDARD
    )
    return found


def scoring(step: Step, score: float) -> Sample:
    """A second of one read: so many MB in it, and so many accesses that its time would let follow."""
    read = OperationSample(1, round(score * 1e6), round(NS_PER_S / score), 1, NS_PER_S, b"")
    return Sample(
        step=step, state=StepState.COMPLETE, ended_by=None, started_ns=0, elapsed_ns=NS_PER_S, gap_ns=None,
        read=read, write=NOTHING, interval_ns=NS_PER_S, intervals=(), cpu=None, failure=None,
    )  # fmt: skip


def applied(conditions: ReplayConditions, scores: Sequence[float]) -> list[Apply]:
    """What the script asks for of passes, if those of each case score so, and then always the last."""
    asked: list[Apply] = []
    script, answer = TEST.script(conditions, 100 * GB), None
    while True:
        try:
            request = script.send(answer)
        except StopIteration:
            return asked
        answer = None
        if isinstance(request, Apply):
            is_pass = request.phase is Phase.LOAD
            before = sum(len(one.steps) for one in asked if one.number == request.number)
            asked += [request] * is_pass
            places = (min(before + n, len(scores) - 1) for n in range(len(request.steps)))
            answer = tuple(
                scoring(step, scores[place]) for step, place in zip(request.steps, places, strict=True)
            )


def driven(conditions: ReplayConditions, scores: Sequence[float]) -> list[int]:
    """The passes of each case."""
    asked = applied(conditions, scores)
    numbers = dict.fromkeys(one.number for one in asked)
    return [sum(len(one.steps) for one in asked if one.number == number) for number in numbers]


@pytest.mark.proves("SOL-STAT-02", "SOL-STAT-03", "SOL-STAT-05", "SOL-STAT-06", "SOL-STAT-09")
def test_a_cold_pass_and_three_warm_ones_and_two_more_at_a_time_up_to_seven() -> None:
    alone = given_words(traces=["like:office"], idle=["full"], background="none")
    assert driven(alone, [9, 100, 100, 101]) == [1 + 3]
    # the cold pass counts for nothing; RSE of 100, 100, 130: 9.1 %; of these and two of 110: 4.8 %
    assert driven(alone, [1, 100, 100, 130, 110]) == [1 + 5]
    assert driven(alone, [1, *(2.0**n for n in range(20))]) == [1 + 7]
    assert driven(replace(alone, most_passes=5), [1, *(2.0**n for n in range(20))]) == [1 + 5]
    assert driven(replace(alone, until_rse_pct=0.0), [1, *(2.0**n for n in range(20))]) == [1 + 3]


def test_each_trace_alone_and_with_background_with_each_handling_of_idle_times() -> None:
    two = given_words(traces=["like:office", "application-start"], until_rse=0)
    assert [str(case) for case in two.cases()] == [
        "like:office, alone, full", "like:office, alone, busy-only",
        "like:office, with own background, full", "like:office, with own background, busy-only",
        "application-start, alone, full", "application-start, alone, busy-only",
        "application-start, with own background, full", "application-start, with own background, busy-only",
    ]  # fmt: skip
    # office work does nothing in background
    assert len(driven(two, [1])) == 6
    assert len(driven(given_words(traces=["like:office"], background="mail", idle=["25ms"]), [1])) == 2
    assert two.part_name(StepPlace(1, Phase.LOAD, 6, 0)) == "application-start, alone, busy-only"


def test_the_background_of_a_recipe_is_a_stream_of_its_own_beside_the_foreground() -> None:
    asked = applied(given_words(traces=["backup"], idle=["full"], until_rse=0), [1])
    steps = [one.steps[0] for one in asked]
    names = [[(one.name, one.replay.ios if one.replay else 0) for one in step.streams] for step in steps]
    # 10,000 reads and 5,000 writes with 5 flushes of the copy, as the recipe has it
    assert names == [[("backup", 20_000)], [("backup", 20_000), ("backup: background", 15_005)]]


def test_passes_of_a_trace_are_one_step_again_and_again() -> None:
    (asked,) = applied(given_words(traces=["like:model-loading"], idle=["full"], until_rse=0), [1])
    assert len(asked.steps) == 4
    assert len(set(asked.steps)) == 1


def test_a_plan_has_the_fewest_passes_and_the_most_also_with_background() -> None:
    conditions = given_words(traces=["backup"], idle=["full"])
    for ending, passes in ((Ending.SHORTEST, 1 + 3), (Ending.LONGEST, 1 + 7)):
        planned = dry_run(TEST.script(conditions, 100 * GB), 100 * GB, AssumedDrive(), ending)
        loads = [one.apply for one in planned if one.apply.phase is Phase.LOAD]
        assert [sum(len(one.steps) for one in loads if one.number == n) for n in (1, 2)] == [passes] * 2


def test_what_does_not_fit_is_refused_before_anything_is_done() -> None:
    with pytest.raises(UsageError, match=r"cannot replay recipe:boot: .* name a mapping"):
        list(TEST.script(given_words(traces=["boot"]), GB))


@pytest.mark.proves("SOL-BMK-01", "SOL-BMK-03")
def test_names_of_recipes_and_of_sets_and_files_are_traces(tmp_path) -> None:
    assert [one.name for one in STANDARD.traces] == list(recipes())
    assert [one.path for one in given_words(traces=["mail", "recipe:backup"]).traces] == [
        "recipe:mail", "recipe:backup",
    ]  # fmt: skip
    assert len(given_words(traces=["quick", "mail"]).traces) == 5
    (file := tmp_path / "a.trace").write_text("x")
    (found,) = given_words(traces=[str(file)]).traces
    assert (found.name, found.sha256) == ("a.trace", hashlib.sha256(b"x").hexdigest())
    assert [str(one) for one in given_words(idle=["25ms", "full", "busy-only"]).idle] == [
        "max-idle 25 ms", "full", "busy-only",
    ]  # fmt: skip


def test_what_makes_no_sense_is_refused_with_what_does(golden) -> None:
    cases = (
        {"traces": ["mial"]},
        {"traces": ["no-such"]},
        {"traces": ["mail", "quick", "boot"]},
        {"background": "no-such"},
        {"idle": ["25"]},
        {"idle": ["0ms"]},
    )
    assert [refusal(given_words, **values) for values in cases] == golden


@pytest.mark.parametrize("name", ["traces", "idle", "background"])
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"traces": ["mail"], "idle": ["25ms"], "background": "none"},
        {"background": "backup", "idle": ["busy-only", "0.5ms"]},
    ],
)
def test_what_is_shown_as_on_the_command_line_is_read_back(name, values) -> None:
    conditions = given_words(**values)
    parameter = parameters_of(ReplayConditions)[name]
    shown = parameter.shown(conditions)
    word = shown if name == "background" else shown.split(",")
    assert getattr(parameter.applied(name, word, STANDARD), name) == getattr(conditions, name)


def test_numbers_of_passes_that_no_set_can_have_are_contradictions(golden) -> None:
    def found(**values: object) -> list[str]:
        options = Overrides(values, {name: f"--{name}" for name in values})
        conditions = given_words(**values)
        return [str(one) for one in (*contradictions(options, conditions), *doubts(options, conditions))]

    assert found() == []
    wrong = ({"most_passes": 6}, {"passes": 9}, {"passes": 1, "until_rse": 0}, {"passes": 4, "until_rse": 0})
    assert [found(**values) for values in wrong] == golden


@given(st.lists(st.floats(1, 1e6), min_size=3, max_size=7))
def test_passes_are_added_while_the_standard_error_is_above_the_limit(scores) -> None:
    error_pct = 100 * float(stats.sem(scores)) / statistics.fmean(scores)
    if math.isclose(error_pct, 5):
        return
    is_enough = error_pct <= 5 and len(scores) % 2 == 1
    step = 2 if len(scores) % 2 else 1
    assert passes_to_add(STANDARD, scores) == (0 if is_enough or len(scores) + step > 7 else step)


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(1, 1e5), min_size=1))
def test_the_mean_of_ratios_does_not_depend_on_the_reference(scores) -> None:
    other = {name: 2000 / score for name, score in scores.items()}
    there, back = (stats.gmean(list(ratios(*pair).values())) for pair in ((scores, other), (other, scores)))
    assert there * back == pytest.approx(1)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=200))
def test_time_over_a_limit_is_the_sum_of_what_is_longer(latencies_ns) -> None:
    times = LatencyDistribution.merged([encode_counts((one, 1) for one in latencies_ns)])
    all_ns = np.array(latencies_ns)
    for limit_ms in (1, 10, 100):
        # those at the limit itself may be on either side of it, by the width of a bucket
        low, high = (all_ns[all_ns > limit_ms * NS_PER_MS * edge].sum() / 1e9 for edge in (1.001, 0.999))
        assert low * 0.999 <= time_over_s(times, limit_ms) <= high * 1.001


def test_a_recipe_has_the_hash_of_its_trace() -> None:
    plan = SchedulePlan(capacity_bytes=100 * GB, sector_bytes=512, mapping="identity")
    assert prepared("recipe:mail", plan).preparation.sources[0].sha256 == recipes()["mail"].sha256


def test_runs_compare_only_over_the_same_traces() -> None:
    assert STANDARD.compares_by == given_words(traces=["full"], idle=["25ms"]).compares_by
    assert STANDARD.compares_by != given_words(traces=["quick"]).compares_by
