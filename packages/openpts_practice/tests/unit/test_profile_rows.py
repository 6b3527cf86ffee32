"""Figures of a row, the score of AS SSD and losses, against exact fractions and published values."""

from fractions import Fraction

import pytest

from openpts.analysis.run_comparison import SetRule
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, Measured, OperationSample
from openpts_practice.rows import FigureUnit, Statistic
from openpts_practice.rows.steps import as_ssd_score, loss_pct, row_figure


def one_pass(ios: int, elapsed_ns: int = 5 * NS_PER_S, latency_ns: int = 100_000) -> Measured:
    """Reads of 4 KiB, all with the same response time."""
    read = (
        OperationSample(ios, ios * 4 * KIB, ios * latency_ns, latency_ns, latency_ns, b"") if ios else NOTHING
    )
    return Measured(read=read, write=NOTHING, elapsed_ns=elapsed_ns, cpu=None)


RULE = SetRule()
PASSES = [
    one_pass(1000, latency_ns=90_000),
    one_pass(1300, latency_ns=70_000),
    one_pass(1250, latency_ns=80_000),
]


@pytest.mark.parametrize(
    ("unit", "statistic", "shown"),
    [
        (FigureUnit.MB_PER_S, Statistic.BEST, Fraction(1300 * 4096, 5 * 10**6)),
        (FigureUnit.MB_PER_S, Statistic.MEDIAN, Fraction(1250 * 4096, 5 * 10**6)),
        (FigureUnit.MB_PER_S, Statistic.MEAN, Fraction(3550 * 4096, 15 * 10**6)),
        (FigureUnit.IOPS, Statistic.BEST, Fraction(260)),
        (FigureUnit.IOPS, Statistic.MEAN, Fraction(710, 3)),
        (FigureUnit.MICROSECONDS, Statistic.BEST, Fraction(70)),
        (FigureUnit.MICROSECONDS, Statistic.MEDIAN, Fraction(80)),
        (FigureUnit.MILLISECONDS, Statistic.MEAN, Fraction(8, 100)),
    ],
)
def test_the_statistic_of_the_passes(unit, statistic, shown) -> None:
    figure = row_figure(PASSES, unit, statistic, RULE)
    assert figure.shown == pytest.approx(float(shown), rel=1e-12)


def test_beside_it_stand_median_and_range() -> None:
    figure = row_figure(PASSES, FigureUnit.IOPS, Statistic.BEST, RULE)
    assert (figure.passes.low, figure.passes.median, figure.passes.high) == (200, 250, 260)


def test_a_pass_of_another_length_counts_by_its_rate() -> None:
    figure = row_figure([one_pass(300, NS_PER_S), one_pass(1000)], FigureUnit.IOPS, Statistic.BEST, RULE)
    assert figure.shown == 300


@pytest.mark.parametrize("unit", list(FigureUnit))
def test_passes_without_an_io_have_no_figure(unit) -> None:
    assert row_figure([one_pass(0), one_pass(0)], unit, Statistic.MEAN, RULE) is None
    assert row_figure([], unit, Statistic.BEST, RULE) is None


def test_the_score_of_as_ssd() -> None:
    """The values are those of the LSI deck; the formula is that of the reviews, worked out in fractions."""
    read = {"Seq": 509.64, "4K": 19.34, "4K-64Thrd": 167.47}
    write = {"Seq": 316.03, "4K": 66.62, "4K-64Thrd": 246.23}
    exact_r = {name: Fraction(str(value)) for name, value in read.items()}
    exact_w = {name: Fraction(str(value)) for name, value in write.items()}
    score = as_ssd_score(read, write)
    tenth = Fraction(1, 10)
    assert score.read == pytest.approx(
        float(tenth * exact_r["Seq"] + exact_r["4K"] + exact_r["4K-64Thrd"]), rel=1e-12
    )
    assert score.write == pytest.approx(
        float(tenth * exact_w["Seq"] + exact_w["4K"] + exact_w["4K-64Thrd"]), rel=1e-12
    )
    total = (
        Fraction(15, 100) * exact_w["Seq"]
        + tenth * exact_r["Seq"]
        + 2 * exact_r["4K"]
        + exact_w["4K"]
        + exact_w["4K-64Thrd"]
        + Fraction(3, 2) * exact_r["4K-64Thrd"]
    )
    assert score.total == pytest.approx(float(total), rel=1e-12)
    # the tool showed 258, 347 and 733 for these rows: what the report says of the formula
    shares = [score.read / 258, score.write / 347, score.total / 733]
    assert [round(100 - 100 * share) for share in shares] == [8, 1, 4]
    assert as_ssd_score(read, {"Seq": 1.0}) is None


@pytest.mark.proves("LSI-PRE-04")
@pytest.mark.parametrize(
    ("fresh", "used", "lost"),
    [(230, 50, 78.2609), (230, 200, 13.0435), (300, 25, 91.6667), (300, 250, 16.6667)],
)
def test_losses_of_the_deck(fresh, used, lost) -> None:
    assert loss_pct(fresh, used) == pytest.approx(lost, abs=5e-5)


def test_a_loss_against_nothing_is_none() -> None:
    assert loss_pct(0, 5) is None
