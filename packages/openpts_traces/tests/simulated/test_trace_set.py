"""Scores of a set on simulated drives: figures against the sums in the record, and what must change none."""

import sqlite3
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.runner.events import RunStarted, StepFinished, StepsStarted
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.traces import TRACES, Background, Idle, TraceFile
from tests.support.oracle_presets import write_oracle
from tests.support.page_transcript import transcript_of
from tests.support.small_recipe import BACKGROUND_WRITES, FOREGROUND, write_recipe
from tests.support.told_run import log_of
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole


def recipe(folder: Path, name: str, seed: int) -> TraceFile:
    return TraceFile(name, str(write_recipe(folder / name, seed)), sha256=str(seed))


def scored(
    folder: Path,
    *traces: TraceFile,
    name: str = "run",
    ios_per_s: float = 20_000,
    target: str = "",
    **changes: Any,
) -> Run:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, ReplayConditions)
        return replace(conditions, traces=traces, **changes)

    drive = target or f"sim:{write_oracle(folder, [ios_per_s])}"
    return run_whole("replay", DriveClass.ENTERPRISE, folder / name, adjust, drive)


def both(folder: Path, **changes: Any) -> Run:
    return scored(folder, recipe(folder, "one", 1), recipe(folder, "two", 2), **changes)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Both traces, which several tests read."""
    return both(tmp_path_factory.mktemp("both"), name="first")


_SUMS = """
SELECT s.number, COALESCE(f.ios, o.ios), COALESCE(f.bytes, o.bytes), COALESCE(f.sum_ns, o.sum_ns),
       json_extract(r.played, '$.busy_ns')
FROM step AS s JOIN replay AS r ON r.step_id = s.step_id AND r.position = 0
JOIN (SELECT step_id, SUM(ios) AS ios, SUM(bytes) AS bytes, SUM(latency_sum_ns) AS sum_ns FROM operation
      WHERE operation IN ('read', 'write') GROUP BY step_id) AS o ON o.step_id = s.step_id
LEFT JOIN (SELECT step_id, SUM(ios) AS ios, SUM(bytes) AS bytes, SUM(latency_sum_ns) AS sum_ns
           FROM stream_operation WHERE position = 0 AND operation IN ('read', 'write') GROUP BY step_id) AS f
     ON f.step_id = s.step_id
WHERE s.part = 'load' ORDER BY s.step_id
"""
"""Of each pass its case, and of its foreground what reads and writes did: no code of the product's."""


def passes_of(run: Run) -> dict[int, np.ndarray[Any, Any]]:
    """Of each case a row for each pass: I/Os, bytes, sum of latencies, busy time."""
    with sqlite3.connect(run.folder / "run.db") as connection:
        rows = np.array(connection.execute(_SUMS).fetchall())
    connection.close()
    return {number: rows[rows[:, 0] == number, 1:].astype(float) for number in dict.fromkeys(rows[:, 0])}


def scores_of(passes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """UL's formula: MB/s over busy time, 1 / mean access time in s, and of both the geometric mean."""
    ios, amount_bytes, sum_ns, busy_ns = np.atleast_2d(passes).T
    return np.asarray(stats.gmean([amount_bytes / 1e6 / (busy_ns / 1e9), 1 / (sum_ns / ios / 1e9)]))


def test_every_score_is_that_of_the_sums_in_the_record(run: Run) -> None:
    passes, figures = passes_of(run), summarize(run)
    assert len(passes) == len(figures["scores"]) == 2 * 2 * 2
    medians: dict[str, dict[str, float]] = {}
    typical: dict[str, list[np.ndarray[Any, Any]]] = {}
    for one, found in zip(figures["scores"], passes.values(), strict=True):
        every = scores_of(found)
        assert one["cold"] == pytest.approx(every[0])
        assert one["warm"]["values"] == pytest.approx(list(every[1:]))
        median = statistics.median(every[1:])
        assert one["warm"]["median"] == pytest.approx(median)
        error_pct = 100 * float(stats.sem(every[1:])) / statistics.fmean(every[1:])
        assert one["warm"]["rse_pct"] == pytest.approx(error_pct, abs=1e-9)
        medians.setdefault(one["load"], {})[one["trace"]] = median
        typical.setdefault(one["load"], []).append(found[1 + int(np.argmin(abs(every[1:] - median)))])
    for one in figures["overall"]:
        assert one["balanced"] == pytest.approx(stats.gmean(list(medians[one["load"]].values())))
        assert one["pooled"] == pytest.approx(scores_of(np.sum(typical[one["load"]], axis=0))[0])
    ratios = {one["title"]: one for one in figures["ratios"]}
    for title, of, to in (
        ("Idle benefit, alone", "alone, full", "alone, busy-only"),
        ("Idle benefit, with own background", "with own background, full", "with own background, busy-only"),
        ("With own background / alone, full", "with own background, full", "alone, full"),
    ):
        expected = {name: medians[of][name] / medians[to][name] for name in ("one", "two")}
        assert ratios[title]["by_trace"] == pytest.approx(expected)
        assert ratios[title]["geometric_mean"] == pytest.approx(stats.gmean(list(expected.values())))


def test_background_slows_the_foreground_down_and_counts_in_no_score(run: Run) -> None:
    figures = summarize(run)
    by_load = {(one["trace"], one["load"]): one for one in figures["scores"]}
    for trace in ("one", "two"):
        alone, beside = (by_load[trace, load] for load in ("alone, full", "with own background, full"))
        assert beside["warm"]["median"] < 0.9 * alone["warm"]["median"]
        for one in (alone, beside):
            operations = one["median_pass"]["operations"]
            assert {name: operations[name]["ios"] for name in FOREGROUND} == FOREGROUND


def test_what_is_on_the_pages(run: Run, snapshot: SnapshotAssertion) -> None:
    pages = ("overall", "passes-page", "times", "fidelity", "traces-page")
    assert (
        transcript_of(build_report(run, "2026-02-03T04:05:06Z"), *(f"score-{one}" for one in pages))
        == snapshot
    )


def test_what_is_written_before_a_trace_is_shown_as_the_sequence_that_it_is(tmp_path: Path) -> None:
    run = scored(tmp_path, recipe(tmp_path, "one", 1), passes=1)
    (shown,) = (
        table
        for name, table in build_report(run, "2026-02-03T04:05:06Z").tables().items()
        if name.endswith("-conditioning")
    )
    assert {row.cells[0].text for row in shown.rows} == {"SEQ 128 KiB 0/100, TC 1 / QD 32"}


def test_the_log_has_the_scores_of_all_passes_of_a_trace(run: Run, snapshot: SnapshotAssertion) -> None:
    steps = run.phase(Phase.LOAD, number=3)
    apply = Apply(Phase.LOAD, 3, tuple(one.sample.step for one in steps), 8, until_alike=True)
    events = [StepFinished(one.place, one.sample) for one in steps]
    told = log_of(RunStarted(Path("r"), run.manifest, ()), StepsStarted(1, apply), *events)
    (scores,) = [line for line in told if line.startswith("load 3")]
    assert scores == snapshot


def test_another_trace_may_be_the_background_and_idle_times_may_be_cut(tmp_path: Path) -> None:
    other = recipe(tmp_path, "other", 3)
    run = scored(tmp_path, recipe(tmp_path, "one", 1), background=Background(other), idle=(Idle(1_000_000),))
    loads = [one["load"] for one in summarize(run)["scores"]]
    assert loads == ["alone, max-idle 1 ms", "with other background, max-idle 1 ms"]
    shown = build_report(run).tables()["score-background"]
    # all that the other trace does: reads, writes, flushes, copies
    assert shown.rows[0].cells[0].value == sum(FOREGROUND.values()) + BACKGROUND_WRITES


def write_trace(folder: Path, name: str, ios: list[tuple[int, str]]) -> TraceFile:
    """An iolog of fio: moments in us, and what is done in an own block at each."""
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    for number, (at_us, kind) in enumerate(ios):
        place = "0 0" if kind == "sync" else f"{number * 4096} 4096"
        lines.append(f"{at_us} /dev/x {kind} {place}")
    (folder / name).write_text("\n".join([*lines, f"{ios[-1][0]} /dev/x close", ""]))
    return TraceFile(name, str(folder / name), sha256=name)


_EVERY_MS = [(1000 * n, "read" if n % 3 else "write") for n in range(60)]
_ALONE = {"idle": (Idle(None),), "background": None}


def pooled(folder: Path, name: str, *traces: TraceFile, **changes: Any) -> dict[str, Any]:
    (found,) = summarize(scored(folder, *traces, name=name, **_ALONE, **changes))["overall"]
    return {key: found[key] for key in ("pooled", "pooled_bandwidth_mb_per_s", "pooled_access_us")}


def test_idle_times_trims_flushes_and_a_cut_in_two_change_no_score(tmp_path: Path) -> None:
    """At depth 1 on a drive that has no memory."""
    whole = pooled(tmp_path, "whole", write_trace(tmp_path, "t", _EVERY_MS))
    later = [(at_us + 500_000 * (at_us >= 30_000), kind) for at_us, kind in _EVERY_MS]
    assert pooled(tmp_path, "later", write_trace(tmp_path, "gap", later)) == pytest.approx(whole)
    halves = [write_trace(tmp_path, name, part) for name, part in (("a", later[:30]), ("b", later[30:]))]
    assert pooled(tmp_path, "halves", *halves) == pytest.approx(whole)
    more = sorted([*later, *((at_us + 500, kind) for at_us, _ in later for kind in ("trim", "sync"))])
    listed = summarize(scored(tmp_path, write_trace(tmp_path, "more", more), name="more-run", **_ALONE))
    found = listed["overall"][0]
    assert {key: found[key] for key in whole} == pytest.approx(whole)
    operations = listed["scores"][0]["median_pass"]["operations"]
    assert (operations["trim"]["ios"], operations["flush"]["ios"]) == (60, 60)


def test_at_depth_1_a_drive_half_as_fast_scores_half(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "t", _EVERY_MS)
    fast, slow = (
        pooled(tmp_path, f"at-{rate}", trace, ios_per_s=rate)["pooled"] for rate in (20_000, 10_000)
    )
    assert slow == pytest.approx(fast / 2)


def test_no_trace_finds_what_another_one_left(tmp_path: Path) -> None:
    """In any order, and alone: a small drive with a cache that each of these traces fills."""
    traces = TRACES.read("--traces", ["like:office", "boot"])

    def scores(name: str, *chosen: TraceFile) -> dict[str, float]:
        run = scored(
            tmp_path,
            *chosen,
            name=name,
            target="sim:client-qlc?capacity=8GB",
            idle=(Idle(None),),
            background=None,
            passes=1,
            until_rse_pct=0.0,
        )
        return {one["trace"]: one["warm"]["median"] for one in summarize(run)["scores"]}

    first = scores("first", *traces)
    assert scores("second", *reversed(traces)) == pytest.approx(first, rel=0.02)
    assert scores("alone", traces[1]) == pytest.approx({"boot": first["boot"]}, rel=0.02)


def test_equal_seeds_are_equal_to_the_bit(run: Run, tmp_path: Path) -> None:
    assert summarize(both(tmp_path))["scores"] == summarize(run)["scores"]


def test_a_comparison_has_geometric_means_of_ratios_and_refuses_other_traces(
    run: Run, tmp_path: Path
) -> None:
    fast, slow = run, both(tmp_path, ios_per_s=10_000)
    compared = build_comparison(compare_runs([NamedRun(fast, "fast"), NamedRun(slow, "slow")]))
    shown = compared.tables()["compare-score-1"]
    medians = [
        {
            one["trace"]: one["warm"]["median"]
            for one in summarize(contender)["scores"]
            if one["load"] == "alone, full"
        }
        for contender in (fast, slow)
    ]
    ratios = {name: medians[1][name] / medians[0][name] for name in ("one", "two")}
    assert next(column.label for column in shown.columns) == "alone, full"
    cells = {row.head.text: row.cells[0].value for row in shown.rows}
    assert cells == pytest.approx(ratios | {"Geometric mean": float(stats.gmean(list(ratios.values())))})
    other = scored(tmp_path, recipe(tmp_path, "one", 1), name="other")
    with pytest.raises(UsageError, match="different workloads"):
        compare_runs([NamedRun(fast, "fast"), NamedRun(other, "other")])


def test_a_set_that_never_comes_together_is_discarded_and_so_is_the_overall_score(
    tmp_path: Path, golden: Golden
) -> None:
    """Each step finds a drive that is four times as fast as before, or slow again."""
    rates = [2000 * 4 ** (number % 3) for number in range(40)]
    preset = write_oracle(tmp_path, rates, name="restless")
    run = both(tmp_path, background=None, idle=(Idle(None),), target=f"sim:{preset}")
    figures = summarize(run)
    assert [(len(one["warm"]["values"]), one["warm"]["quality"]) for one in figures["scores"]] == [
        (7, "discarded"),
        (7, "discarded"),
    ]
    assert figures["overall"][0]["balanced"] is None
    assert figures["overall"][0]["lacking"] == "discarded: one, two"
    found = [one.rule_id for one in run.ledger]
    assert found.count("SOL-STAT-06") == 2
    assert " ".join(one.text for one in procedure_of("replay").report(run).verdicts) == golden


def test_a_scaled_drive_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="own size"):
        scored(tmp_path, recipe(tmp_path, "one", 1), target="sim:enterprise-tlc?scale=64")
