"""The lifetime test on a drive that wears out, whose life is known beforehand."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.vocabulary.drive_class import DriveClass
from openpts_practice.lifetime import LifetimeConditions
from tests.support.endurance_presets import RATED_ERASES, write_worn_drive
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole


def wear_per_cycle_pct(run: Run) -> float:
    """Sequential writes are never moved: each cycle erases as much of the flash as the user capacity."""
    physical_per_user = run.manifest.engine["geometry_physical_per_user"].value
    assert physical_per_user is not None
    return 100 / RATED_ERASES / float(physical_per_user)


def to_the_end(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, LifetimeConditions)
    return replace(conditions, drive_cycles=200, wear_limit_pct=1000)


@pytest.fixture(scope="module")
def worn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("worn")
    target = f"sim:{write_worn_drive(folder)}?capacity=1GB&scale=1"
    return run_whole("lifetime", DriveClass.ENTERPRISE, folder / "run", to_the_end, target)


@pytest.mark.slow
def test_a_drive_is_written_until_it_takes_no_more(worn: Run, golden: Golden) -> None:
    figures = summarize(worn)
    assert worn.manifest.state is RunState.COMPLETE
    assert figures["ended_by"] == golden
    assert [cycle["complete"] for cycle in figures["cycles"]] == [True] * figures["whole_cycles"] + [False]
    assert figures["io_errors"] == 1
    capacity = worn.manifest.target.user_capacity_bytes
    assert figures["written_bytes"] // capacity == figures["whole_cycles"]
    assert not figures["compared"]


def test_wear_goes_as_erases_over_rated_ones(worn: Run) -> None:
    cycles = [cycle for cycle in summarize(worn)["cycles"] if cycle["complete"]]
    # the first cycle finds everything erased, the second a reserve of erased blocks
    for first, last in ((1, 10), (10, 30)):
        slope = (cycles[last]["percentage_used_pct"] - cycles[first]["percentage_used_pct"]) / (last - first)
        assert slope == pytest.approx(wear_per_cycle_pct(worn), rel=0.002)
    assert summarize(worn)["write_amplification"] == pytest.approx(1, abs=0.01)


def test_the_rated_life_was_used_up_when_the_forecast_says(worn: Run) -> None:
    figures = summarize(worn)
    used = [cycle["percentage_used_pct"] for cycle in figures["cycles"]]
    reached = next(number for number, wear in enumerate(used, start=1) if wear >= 100)
    forecast = figures["rated_life_used_after_cycles"]
    assert forecast["earliest"] - 1 <= reached <= forecast["latest"] + 1
    assert forecast["likely"] == pytest.approx(100 / wear_per_cycle_pct(worn), rel=0.02)


def test_a_handful_of_cycles_foretells_the_life_of_the_same_drive(worn: Run, tmp_path: Path) -> None:
    """From five cycles on, the life that the whole run had lies in the interval or within 1 % of it."""
    target = f"sim:{write_worn_drive(tmp_path)}?capacity=1GB&scale=1"
    short = summarize(run_whole("lifetime", DriveClass.ENTERPRISE, tmp_path / "run", target=target))
    assert short["ended_by"] == "5 cycles, as asked for"
    early, whole = short["rated_life_used_after_cycles"], summarize(worn)["rated_life_used_after_cycles"]
    assert early["earliest"] * 0.99 <= whole["likely"] <= early["latest"] * 1.01
    assert early["latest"] - early["earliest"] > whole["latest"] - whole["earliest"]


def test_the_report_has_a_row_for_each_five_per_cent_of_wear(worn: Run) -> None:
    report = build_report(worn, default_date(worn))
    rows = report.tables()["lifetime-stretches-table"].rows
    wear = [row.cells[6].value for row in rows]
    assert None not in wear
    steps = [b - a for a, b in pairwise(wear) if a is not None and b is not None]
    cycle = wear_per_cycle_pct(worn)
    # a stretch ends with the cycle that passes the step; the last ones are what is left of the drive
    assert all(5 - cycle <= step <= 5 + 2 * cycle for step in steps[:-2])
    assert rows[-1].cells[4].value == 1
    rules = {figure.id: [rule.label for rule in figure.rules] for figure in report.figures()}
    assert (rules["lifetime-write"], rules["lifetime-read"]) == (["first failed write"], [])


@pytest.mark.parametrize(
    ("changes", "figure", "limit", "reason"),
    [
        ({"write_limit_bytes": 9 * 10**9}, "written_bytes", 9e9, "0.012 TB written (limit 0.009 TB)"),
        ({"wear_limit_pct": 4}, "percentage_used_pct", 4, "of the rated life used (limit 4 %)"),
    ],
)
def test_limits_end_it_with_the_cycle_that_passes_them(
    changes: dict[str, float], figure: str, limit: float, reason: str, tmp_path: Path
) -> None:
    target = f"sim:{write_worn_drive(tmp_path)}?capacity=4GB&scale=1"
    run = run_whole(
        "lifetime", DriveClass.ENTERPRISE, tmp_path / "run", lambda c: replace(c, **changes), target
    )
    figures = summarize(run)
    assert figures["ended_by"].endswith(reason)
    per_cycle = figures["written_bytes"] / figures["whole_cycles"]
    used = [
        cycle.get(figure, cycle["number"] * per_cycle) for cycle in figures["cycles"] if cycle["complete"]
    ]
    assert used[-2] < limit <= used[-1]
