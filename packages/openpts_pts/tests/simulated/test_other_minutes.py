"""A drive whose pace repeats every 30 minutes looks level to minutes 30 minutes apart; the report tells."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts_pages.model import Verdict
from tests.support.oracle_presets import write_oracle
from tests.support.whole_tests import run_whole

PAGES = {
    "wsat": ("cover", "wsat-window"),
    "hir": ("cover", "hir-1", "hir-2"),
    "dirth": ("cover", "dirth-1", "dirth-2"),
}


def adjusted(conditions: Conditions) -> Conditions:
    """HIR with its first wait state alone, WSAT for two and a half hours, DIRTH at four operating points."""
    shorter: dict[str, dict[str, Any]] = {
        "hir": {"wait_states": getattr(conditions, "wait_states", ())[:1]},
        "dirth": {"tcs": (32, 1), "qds": (32, 1)},
        "wsat": {"longest_ns": 9000 * NS_PER_S, "drive_fills": 12.0},
    }
    return replace(conditions, **shorter[conditions.test])


def run_of(folder: Path, test: str, iops: list[float]) -> Run:
    preset = write_oracle(folder, iops, by="seconds", every=600)
    return run_whole(test, DriveClass.ENTERPRISE, folder / "run", adjusted, f"sim:{preset}")


def told(run: Run) -> dict[str, list[str]]:
    """The sentences on each page that speak of the minutes between."""
    report = build_report(run, "2026-02-03T04:05:06Z")
    return {
        page.id: texts
        for page in report.pages()
        if (
            texts := [
                block.text
                for block in page.blocks
                if isinstance(block, Verdict) and "tracked ones disagree" in block.text
            ]
        )
    }


def other_minutes(run: Run) -> dict[str, Any]:
    figures = summarize(run)
    of_test = {
        "wsat": lambda: figures["workloads"][0],
        "hir": lambda: figures,
        "dirth": lambda: figures["preconditioning"],
    }[run.manifest.conditions.test]()
    assert of_test["steady_state"]["reached"]
    found: dict[str, Any] = of_test["steady_state"]["other_minutes"]
    return found


@pytest.mark.parametrize("test", ["wsat", "hir", "dirth"])
@pytest.mark.slow
def test_a_pace_that_repeats_every_30_minutes_is_told(tmp_path: Path, test: str) -> None:
    """Ten minutes each of n, 2n and 4n I/Os a second: all tracked minutes see n.

    DIRTH has 1,024 outstanding, which a slow drive answers for minutes after the end of a step.
    """
    pace = 50.0 if test == "dirth" else 10.0
    run = run_of(tmp_path, test, [pace, 2 * pace, 4 * pace] * 20)
    found = other_minutes(run)
    assert found["agree"] is False
    assert found["highest_average_iops"] == pytest.approx(4 * pace, rel=0.01)
    assert found["lowest_average_iops"] == pytest.approx(pace, rel=0.01)
    pages = told(run)
    assert set(pages) >= {*PAGES[test], "run-conditions"}
    (sentence,) = pages["cover"]
    assert f"averages are {pace:.0f} to {4 * pace:.0f} IOPS" in sentence
    assert f"the tracked minutes average {pace:.0f} IOPS" in sentence


@pytest.mark.parametrize("test", ["wsat", pytest.param("hir", marks=pytest.mark.slow)])
def test_a_level_pace_is_not(tmp_path: Path, test: str) -> None:
    run = run_of(tmp_path, test, [20.0])
    assert other_minutes(run)["agree"] is True
    assert not told(run)
