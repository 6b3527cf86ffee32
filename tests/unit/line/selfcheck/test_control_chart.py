"""Control charts against the worked example of NIST's handbook, and by hand."""

from pathlib import Path

import pytest

from openpts_line.selfcheck.control_chart import chart_of
from openpts_line.selfcheck.finding import Finding, Verdict
from openpts_line.selfcheck.history import SelfCheck, charts, keep, kept_checks, last_self_check

# NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.2.2: mean 50.81, mean moving range 1.8778
HANDBOOK = (49.6, 47.6, 49.9, 51.3, 47.8, 51.2, 52.6, 52.4, 53.6, 52.1)


def test_the_limits_are_those_of_the_handbook() -> None:
    chart = chart_of("figure", [(str(place), value) for place, value in enumerate(HANDBOOK)])
    assert chart.mean == pytest.approx(50.81)
    assert chart.low == pytest.approx(45.8150, abs=2e-3)
    assert chart.high == pytest.approx(55.8050, abs=2e-3)
    assert chart.outside == ()


def test_a_jump_lies_outside_and_a_single_value_has_no_limits() -> None:
    values = [1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 1.0, 3.0]
    assert chart_of("figure", [(str(place), value) for place, value in enumerate(values)]).outside == ("11",)
    alone = chart_of("figure", [("now", 1.0)])
    assert (alone.low, alone.high, alone.outside) == (None, None, ())


def test_what_is_kept_comes_back_and_the_last_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    assert kept_checks() == ()
    assert last_self_check() == {}
    finding = Finding(check="known delays", verdict=Verdict.PASSED, text="", figures={"drift_us": 1.5})
    first = SelfCheck.of([finding])
    second = SelfCheck.of(
        [finding, Finding(check="clocks", verdict=Verdict.FAILED, text="", faults=("slow",))]
    )
    for check in (first, second):
        keep(check)
    assert kept_checks() == (first, second)
    assert (first.verdict, second.verdict, second.faults) == (
        Verdict.PASSED,
        Verdict.FAILED,
        ("clocks: slow",),
    )
    (chart,) = charts(kept_checks())
    assert (chart.figure, chart.checks, chart.last) == ("known delays: drift_us", 2, 1.5)
    assert last_self_check()["self_check"].value == "failed"
