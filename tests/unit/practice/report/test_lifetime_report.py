"""The lifetime report of a drive whose log goes on as NVMe's does, in whole per cent."""

import pytest

from openpts.pages.model import Report, Verdict
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.summary import summarize
from tests.support.made_up_run import CAPACITY_BYTES
from tests.unit.practice.report.known_drives import wearing_run

DATE = "2026-02-03T04:05:06Z"


def verdicts(report: Report, page_id: str) -> list[str]:
    (page,) = [page for page in report.pages() if page.id == page_id]
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


@pytest.fixture(scope="module")
def worn() -> Run:
    return wearing_run(None)


@pytest.mark.proves("HYP-LIFE-04")
def test_speeds_and_times_of_a_cycle(worn) -> None:
    figures = summarize(worn)
    first = figures["cycles"][0]
    assert first["write_bytes_per_s"] == pytest.approx(8000 * 131_072)
    assert first["read_bytes_per_s"] == pytest.approx(16_000 * 131_072)
    assert first["write_s"] == pytest.approx(CAPACITY_BYTES / (8000 * 131_072))
    assert figures["write_amplification"] == pytest.approx(1.5)
    assert (figures["whole_cycles"], figures["io_errors"], figures["compared"]) == (30, 0, True)


def test_the_forecast_is_an_interval_in_words_and_in_the_figure(worn) -> None:
    forecast = summarize(worn)["rated_life_used_after_cycles"]
    # 90 % at 0.7 % a cycle, and the log is rounded down: half a per cent later
    assert forecast["likely"] == pytest.approx((90 + 0.5) / 0.7, rel=0.01)
    assert forecast["earliest"] < forecast["likely"] < forecast["latest"]
    report = build_report(worn, DATE)
    (text,) = verdicts(report, "lifetime-forecast")
    assert f"95 % interval {forecast['earliest']:.0f} to {forecast['latest']:.0f}" in text
    figure = next(f for f in report.figures() if f.id == "lifetime-forecast-plot")
    assert [series.label for series in figure.series if "interval" in series.label] == [
        "95 % interval, upper end",
        "95 % interval, lower end",
    ]
