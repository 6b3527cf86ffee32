"""Measures: what each test declares, found by key, with its state, its doubt, and why it is missing."""

import builtins
import math
from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.record.reader import Run, read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.verdict import Better
from openpts_compare.compare.contenders import ComparedRun, NamedRun, RunComparison, compare_runs, metrics_of
from openpts_pages.measure import Measured
from openpts_pts.conformance.catalogue import PTS
from tests.support.made_up_run import made_up_run, restless_rate


def measures(run: Run) -> dict[str, Measured]:
    found = procedure_of(run.manifest.conditions.test).report(run).measures
    by_key = {one.key: one for one in found}
    assert len(by_key) == len(found), "a key twice"
    return by_key


# A made-up run has no answers of a drive to OCP's questions: packages/openpts_nvme/tests/unit/ocp.
@pytest.fixture(scope="module", params=[name for name in PROCEDURES if name != "ocp"])
def made_up(request) -> Run:
    return made_up_run(request.param)


def test_keys_are_unique_and_made_for_machines(made_up) -> None:
    found = measures(made_up)
    assert all(
        key == key.lower() and set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.") for key in found
    )
    assert any(one.is_key for one in found.values())
    on_cover = [one for one in found.values() if one.on_cover]
    assert on_cover
    assert all(one.cover_label for one in on_cover)


def test_a_ratio_of_states_gets_a_delta_only_where_one_side_is_better(made_up) -> None:
    """As the manual has it: each that it names, and no other."""
    named = ("FOB plateau / end zone", "least / most entropy", "last zone / first", "beside trims over alone")
    for one in measures(made_up).values():
        if any(name in one.label for name in named) or one.unit in {"ratio", "x"}:
            assert one.better is Better.UNJUDGED, one.label
            assert any(name in one.label for name in named), one.label
        if "run #2 / run #1" in one.label:
            assert one.better is Better.HIGHER


def test_json_has_every_measure_by_its_key(made_up) -> None:
    figures = summarize(made_up)["measures"]
    assert {key: one["value"] for key, one in figures.items()} == {
        key: one.value for key, one in measures(made_up).items()
    }


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("test", sorted(PTS))
def test_a_report_is_the_same_on_each_python(test, monkeypatch) -> None:
    """``sum`` rounds floats otherwise from Python 3.12 on: there ``verify`` would find another record."""
    inexact = builtins.sum

    def exact(values: Iterable[float], /, start: float = 0) -> float:
        of_all = [*values]
        found = inexact(of_all, start)
        return math.fsum([start, *of_all]) if isinstance(found, float) else found

    def uneven(stimulus: Stimulus, _phase: Phase, number: int) -> float:
        return 20_000 / math.pi * (1 + number * stimulus.tc % 13 / 1000)

    run = made_up_run(test, rate=uneven)
    before = build_report(run, default_date(run))
    monkeypatch.setattr(builtins, "sum", exact)
    assert build_report(run, default_date(run)) == before


def test_the_key_values_of_iops_are_the_averages_of_its_matrix(reports) -> None:
    run = read_run(reports.folder("steady"))
    found = measures(run)
    expected = {
        f"rnd_4_kib_rw{cell['read_pct']}.iops": cell["iops"]
        for cell in summarize(run)["iops"]
        if cell["block_size_bytes"] == 4096 and cell["read_pct"] in {0, 65, 100}
    }
    assert {key: one.value for key, one in found.items()} == expected
    assert {one.better for one in found.values()} == {Better.HIGHER}


def test_what_was_not_measured_says_so(reports) -> None:
    found = measures(read_run(reports.folder("preconditioned only"))).values()
    assert {(one.value, one.text, one.note, one.state) for one in found} == {
        (None, "n/a", "not measured", "")
    }
    assert {one.noted_cell.tone for one in found} == {"missing"}


def test_idle_recovery_gives_the_gain_of_the_longest_wait_state() -> None:
    """A drive that writes 20,000 IOPS, but 15,000 in wait state 10: a gain of -25 %."""

    def rate(_stimulus: Stimulus, phase: Phase, number: int) -> float:
        return 15_000.0 if (phase, number) == (Phase.WAIT_STATE, 10) else 20_000.0

    run = made_up_run("hir", rate=rate)
    found = measures(run)
    keys = {key: (one.value, one.text) for key, one in found.items() if one.is_key}
    assert keys["baseline_iops"] == (pytest.approx(20_000), "20,000")
    assert keys["ws10.gain"] == (pytest.approx(-25), "-25.0")
    assert len(keys) == 2
    covered = [key for key, one in found.items() if one.on_cover]
    assert covered == ["baseline_iops", *(f"ws{s['number']}.gain" for s in summarize(run)["wait_states"])]


def test_a_wait_state_that_was_never_reached_says_so() -> None:
    found = measures(made_up_run("hir", rate=restless_rate))
    assert {key: (one.note, one.on_cover) for key, one in found.items()} == {
        "baseline_iops": ("not measured", True),
        "ws10.gain": ("not reached", False),
    }


def test_recovery_is_a_time() -> None:
    run = made_up_run("xsr")
    found = measures(run)
    keys = ["recovery_to_90_pct", "recovery_to_95_pct"]
    assert [key for key, one in found.items() if one.is_key] == keys
    for key in (*keys, "recovery_to_peak"):
        one = found[key]
        assert (one.unit, one.better, one.is_key) == ("min", Better.LOWER, key in keys)
        assert one.value == summarize(run)[f"{key}_min"]
    assert not found["recovery_to_peak"].on_cover


def unreachable_limit(conditions: Conditions) -> Conditions:
    return replace(conditions, art_limit_ns=1)


@pytest.mark.parametrize("name", ["cbw", "dirth"])
def test_an_operating_point_names_its_demand_and_what_is_wrong_with_it(name) -> None:
    run = made_up_run(name, adjust=unreachable_limit)
    point = summarize(run)["chosen_points"]["max"]
    at = f"TC {point['tc']} / QD {point['qd']}"
    found = measures(run)
    keys = {key: (one.label, one.note, one.value) for key, one in found.items() if one.is_key}
    note = f"{at}, ART not below its limit"
    assert keys == {
        "max.iops": ("MaxIOPS", note, point["iops"]),
        "max.art": ("ART at MaxIOPS", note, pytest.approx(point["art_ms"])),
    }
    assert found["max.iops"].cover_label == f"MaxIOPS at {found['max.art'].text} ms, {at}"
    assert [key for key, one in found.items() if one.on_cover] == ["max.iops"]
    assert found["max.iops"].explanation == "one at a time, no point has a mean below 1e-06 ms"


@pytest.mark.parametrize("name", ["cbw", "dirth"])
def test_operating_points_have_a_card_each(name) -> None:
    on_cover = [key for key, one in measures(made_up_run(name)).items() if one.on_cover]
    assert on_cover == ["max.iops", "min.iops", "mid1.iops"]


@pytest.mark.parametrize("name", ["cbw", "dirth"])
def test_one_operating_point_has_one_card(name) -> None:
    """Of a drive whose only point below the limit is that of one I/O at a time."""
    run = made_up_run(name, adjust=lambda conditions: replace(conditions, tcs=(1,), qds=(1,)))
    found = measures(run)
    assert [key for key, one in found.items() if one.on_cover] == ["max.iops"]
    assert found["max.iops"].explanation == "one at a time, the most with a mean below 5 ms"
    assert found["min.iops"].note == found["min.iops"].point != ""


def test_without_a_round_there_is_no_operating_point() -> None:
    run = made_up_run("dirth")
    cut = replace(run, steps=tuple(step for step in run.steps if step.place.phase is not Phase.ROUND))
    found = measures(cut)
    assert {key: (one.text, one.cover_label, one.on_cover) for key, one in found.items()} == {
        "max.iops": ("n/a", "MaxIOPS", True),
        "max.art": ("n/a", "ART at MaxIOPS", False),
    }


@pytest.mark.parametrize(("iops", "known"), [(500.0, 150_000), (100.0, 30_000), (2.0, 600)])
def test_a_percentile_is_a_key_value_where_the_ios_suffice(iops, known) -> None:
    """Of the five minutes of the window together, reads as well as writes; no maximum stands in."""
    run = made_up_run("lat", rate=lambda *_: iops)
    found = measures(run)
    for nines, needed in (("three_nines", 1_000), ("five_nines", 100_000)):
        for read_pct in (0, 65, 100):
            one = found[f"rnd_4_kib_rw{read_pct}.{nines}"]
            assert (one.is_key, one.on_cover, one.value is not None) == (known >= needed,) * 3
            assert not one.stands_in


def test_the_cards_of_latency_have_a_tail_of_reads() -> None:
    found = [one.key for one in measures(made_up_run("lat")).values() if one.on_cover and one.value]
    assert {"rnd_4_kib_rw0.three_nines", "rnd_4_kib_rw100.three_nines"} <= set(found[:5])


@pytest.mark.parametrize(
    ("test", "key", "unit", "better"),
    [
        ("tp", "seq_128_kib.write", "MB/s", Better.HIGHER),
        ("lat", "rnd_4_kib_rw0.art", "ms", Better.LOWER),
        ("wsat", "rnd_4_kib_rw0.plateau_to_end_zone_ratio", "ratio", Better.UNJUDGED),
        ("sustained", "rnd_4_kib_qd32_t4_write.sustained_pct", "%", Better.HIGHER),
        ("sustained", "load_max_response_time", "ms", Better.LOWER),
        ("entropy", "rnd_4_kib.loss_at_few_writes", "%", Better.LOWER),
        ("entropy", "seq_128_kib_w.entropy_factor", "x", Better.UNJUDGED),
        ("thermal", "cold_run.first_throttle", "min", Better.HIGHER),
        ("thermal", "cold_run.speed_throttled", "MB/s", Better.HIGHER),
        ("lifetime", "rated_life_used_after", "cycles", Better.HIGHER),
        ("lifetime", "whole_cycles", "cycles", Better.UNJUDGED),
        ("fill", "cache_end", "GB", Better.HIGHER),
        ("precon", "rnd_4_kib_rw0.fresh_steady", "IOPS", Better.HIGHER),
    ],
)
def test_a_figure_is_judged_by_what_it_is(test, key, unit, better) -> None:
    one = measures(made_up_run(test))[key]
    assert (one.unit, one.better, one.is_key) == (unit, better, True)


def relabeled(run: ComparedRun) -> ComparedRun:
    renamed = tuple(replace(one, label=f"Other words {n}") for n, one in enumerate(run.content.measures))
    return replace(run, content=replace(run.content, measures=renamed))


def with_last_set(comparison: RunComparison, change: Callable[[ComparedRun], ComparedRun]) -> RunComparison:
    (test,) = comparison.tests
    *others, last = test.contenders
    changed = replace(last, runs=tuple(change(run) for run in last.runs))
    return replace(comparison, tests=(replace(test, contenders=(*others, changed)),))


def test_runs_are_compared_by_key_whatever_the_labels_say(reports) -> None:
    run = read_run(reports.folder("steady"))
    comparison = compare_runs([NamedRun(run, "a"), NamedRun(run, "b")])
    ((_, plain),) = metrics_of(comparison)
    ((_, other),) = metrics_of(with_last_set(comparison, relabeled))
    assert [metric.key for metric in other] == [metric.key for metric in plain]
    assert all(one.runs is not None for metric in other for one in metric.sets)
