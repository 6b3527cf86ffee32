"""Confidence level plots: what is drawn is what was counted, and no nine is claimed without its I/Os."""

import numpy as np
import pytest

from openpts.analysis.response_times import ResponseTimes, response_times
from openpts.pages.kit import PlotName
from openpts.pages.model import Cell, Figure, Page, Table, Verdict, points_of
from openpts.procedures.shared.confidence_page import Applied, confidence_page
from openpts.units import NS_PER_MS
from tests.support.interval_samples import step_of

NAME = PlotName("clp", "Plot 9-4", "Response Time Histogram")
LATENCIES = np.random.default_rng(8).lognormal(11, 0.9, 130_000).astype(int).tolist()


def times_of(count: int) -> ResponseTimes:
    return response_times([step_of([LATENCIES[:count]])])


def page_of(count: int, nines: int | None = None) -> Page:
    return confidence_page(times_of(count), Applied("RND 4 KiB RW0", "TC 1 / QD 1", nines), NAME)


def parts(page: Page) -> tuple[Figure, dict[str, Table], list[Verdict]]:
    (figure,) = [block for block in page.blocks if isinstance(block, Figure)]
    tables = {block.id: block for block in page.blocks if isinstance(block, Table)}
    return figure, tables, [block for block in page.blocks if isinstance(block, Verdict)]


def level(page: Page, item: str) -> tuple[Cell, ...]:
    _, tables, _ = parts(page)
    (row,) = [row for row in tables["clp-levels"].rows if row.head.text == item]
    return row.cells


@pytest.mark.proves("PTS-LAT-37", "PTS-WSAT-30")
def test_bars_hold_every_io_up_to_the_maximum_and_levels_are_their_sum() -> None:
    figure, tables, _ = parts(page_of(130_000))
    table = tables[figure.table_id]
    bars, levels = (points_of(series, table) for series in figure.series)
    assert sum(ios for _, ios in bars) == 130_000
    largest_ms = max(LATENCIES) / NS_PER_MS
    assert table.rows[-1].head.value is not None
    assert table.rows[-2].head.value is not None
    assert table.rows[-2].head.value < largest_ms <= table.rows[-1].head.value
    for edge_ms, level_pct in levels:
        share = 100 * sum(ns <= edge_ms * NS_PER_MS for ns in LATENCIES) / 130_000
        assert share - 0.1 <= level_pct <= share + 1e-9  # a bucket across the edge counts behind it
    assert (figure.y2 and figure.y2.scale, figure.x.scale) == ("nines", "log")
    assert figure.y2 is not None
    assert all(level_pct < figure.y2.domain[1] for _, level_pct in levels)


@pytest.mark.proves("PTS-LAT-38", "PTS-WSAT-31")
def test_the_required_response_times_are_marked() -> None:
    figure, _, _ = parts(page_of(130_000))
    assert [rule.label.split()[0] for rule in figure.rules] == ["ART", "3", "4", "5", "MRT"]
    assert all(rule.axis == "x" for rule in figure.rules)
    assert figure.rules[0].value == pytest.approx(np.mean(LATENCIES) / NS_PER_MS)
    assert figure.rules[-1].value == max(LATENCIES) / NS_PER_MS


@pytest.mark.parametrize(("count", "note"), [(130_000, "low n, N = 130,000"), (99_999, "= MRT, N = 99,999")])
def test_five_nines_take_a_hundred_thousand_ios(count: int, note: str) -> None:
    value, share = level(page_of(count), "5 nines")
    assert value.note == note
    assert (share.text == "99.999") == (count >= 100_000)
    figure, _, _ = parts(page_of(count))
    assert any(rule.label.startswith("5 9s") for rule in figure.rules) == (count >= 100_000)


@pytest.mark.proves("PTS-LAT-19", "PTS-LAT-21", "PTS-LAT-39", "PTS-WSAT-22", "PTS-WSAT-32")
@pytest.mark.parametrize(("nines", "tone"), [(4, "pass"), (7, "fail")])
def test_nines_asked_for_are_told_with_their_ios(nines: int, tone: str) -> None:
    page = page_of(130_000, nines)
    told = [v for v in parts(page)[2] if "nines need" in v.text]
    assert [verdict.tone for verdict in told] == [tone]
    value, _ = level(page, f"{nines} nines")
    assert (value.text == "n/a") == (tone == "fail")


def test_a_histogram_that_never_began_says_so() -> None:
    page = confidence_page(None, Applied("RND 4 KiB RW0", "TC 1 / QD 1"), NAME)
    (sentence,) = page.blocks
    assert isinstance(sentence, Verdict)
    assert sentence.tone == "fail"
    assert page.mandatory
