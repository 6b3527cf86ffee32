"""`compare`, `gate` and a run's own limits, held against each other on the same runs."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from openpts.record.decoding import decode_json
from openpts.record.reader import Run, read_run
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_compare.compare.figures import ComparedSet, comparison_document
from openpts_compare.limits.judge import judge, judge_finished
from openpts_compare.limits.limits_file import BaselineRun, kept_baseline, parse_limits
from openpts_compare.runs.flat_rows import flat_row
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_compare.tests.unit.report.test_comparison import at
from tests.support.report_cases import Reports

KEY = "rnd_4_kib_rw0.iops"
RULE = """allow = ["deviations", "not steady"]
statistics = {{most_runs = 3, false_alarm_pct = {0}, miss_pct = {0}}}"""


@pytest.fixture(scope="module")
def run(reports: Reports) -> Run:
    return read_run(reports.folder("five rounds"))


def compared(base: Sequence[Run], candidate: Sequence[Run]) -> ComparedSet:
    document = comparison_document(
        compare_runs([*(NamedRun(one, "old") for one in base), *(NamedRun(one, "new") for one in candidate)]),
        (),
    )
    return next(value.sets[1] for value in document.tests[0].key_values if value.key == KEY)


def gated(
    base: Sequence[MeasuredRun], candidate: Sequence[MeasuredRun], bound: str, alarm_pct: float
) -> JudgedLimit:
    """By a rule whose whole error is that of one look times three, and the first run by its own limits."""
    limits = parse_limits(RULE.format(3 * alarm_pct).encode(), "", [f"iops.{KEY} {bound}"])
    (one,) = judge(limits, candidate, base).judged
    kept = decode_json(kept_baseline(limits, base), tuple[BaselineRun, ...])
    single = candidate[0]
    assert judge_finished(limits, single, kept).judged == judge(limits, [single], base).judged
    return one


@pytest.mark.parametrize(("loss", "differs"), [(0, False), (0.01, False), (0.03, True)])
def test_three_runs_against_three_have_one_difference(run, loss, *, differs) -> None:
    draw = np.random.default_rng(20010)
    shares = draw.normal(1, 0.004, 3), draw.normal(1 - loss, 0.004, 3)
    runs = [[at(run, share) for share in side] for side in shares]
    found = compared(*runs)
    assert (found.outcome == "different") is differs
    assert found.chance_pct is not None
    base, candidate = (list(map(MeasuredRun.of, side)) for side in runs)
    for alarm_pct in (0.01, 0.1, 1, 2.5, 10):
        bounds = [gated(base, candidate, bound, alarm_pct) for bound in (">= 1 x", "<= 1 x")]
        assert any(one.judgement is Judgement.FAIL for one in bounds) is (found.chance_pct < 2 * alarm_pct)
    one = gated(base, candidate, ">= 1 x", 2.5)
    assert one.reason.partition("; ")[0] in found.statement
    assert found.warm == tuple(flat_row(one)[f"iops.{KEY} (IOPS)"] for one in runs[1])


def dated(run: Run, day: int) -> Run:
    return replace(run, manifest=replace(run.manifest, started_at=f"2026-03-{day:02}T08:00:00+00:00"))


def test_what_is_no_repeat_is_judged_by_neither(run) -> None:
    """Runs that drift, and copies of one run, have no spread of their own."""
    base = [at(run, share) for share in (1.0, 1.004, 0.997)]
    drifting = [dated(at(run, 0.8 + 0.001 * day), day) for day in range(1, 6)]
    copies = [replace(at(run, 0.8), folder=run.folder / name) for name in ("a", "b", "c")]
    for candidate in (drifting, copies):
        found = compared(base, candidate)
        one = gated(*(list(map(MeasuredRun.of, side)) for side in (base, candidate)), ">= 1 x", 2.5)
        assert (one.judgement, one.value) == (Judgement.NO_VERDICT, None)
        assert (found.outcome, found.chance_pct) == ("no repeats", None)
        assert found.statement.startswith(f"nothing can be said of chance: {one.reason}")
    assert one.reason == "two folders are copies of one run: leave one out"
