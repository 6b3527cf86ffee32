"""Figures of the page that explains a report, against the runs of which its pictures are drawn."""

import pytest

from docs.simulated_curves import CURVES, Row
from tests import ROOT

PAGE = " ".join((ROOT / "docs/why.md").read_text(encoding="utf-8").split())


def iops(thousands: float) -> str:
    """In three digits, as the page has them."""
    return f"{float(f'{thousands * 1000:.3g}'):,.0f}"


def of(rows: list[Row], series: str) -> dict[float, float]:
    """Values of the series whose name begins so, by their x."""
    return {x: y for name, x, y in rows if name.startswith(series)}


@pytest.mark.slow
def test_the_figures_of_steady_state_and_of_histories() -> None:
    saturation = of(list(CURVES["write-saturation"]().rows), "enterprise-tlc")
    falls = next(x for x, y in saturation.items() if y < 0.95 * next(iter(saturation.values())))
    first, *_, last = map(iops, saturation.values())
    assert f"begins with {first} random writes per second. Beyond 1.2 drive writes" in PAGE
    assert f"after four it is at {last}" in PAGE
    assert 1.2 < falls < 1.3
    rows = list(CURVES["histories"]().rows)
    fresh, sequential, random = (of(rows, name) for name in ("fresh", "after 2", "after 4"))
    at_first = [iops(values[1]) for values in (fresh, sequential, random)]
    later = [iops(values[21]) for values in (fresh, sequential, random)]
    assert (
        "it does {} IOPS fresh, {} after sequential writes and {} after random ones".format(*at_first) in PAGE
    )
    assert "after 21 minutes {}, {} and {}.".format(*later) in PAGE


@pytest.mark.slow
def test_the_figures_of_percentiles() -> None:
    rows = list(CURVES["percentiles"]().rows)
    names = list(dict.fromkeys(name for name, _, _ in rows))
    alone, few, many = (of(rows, name) for name in names)
    means = [float(name.split()[-2]) for name in names]
    assert "Their mean is {:.3f}, {:.3f} and {:.3f} ms".format(*means) in PAGE
    assert f"{alone[2]:.3f} ms alone and {many[2]:.2f} ms beside 35 % writes" in PAGE
    assert f"{alone[3]:.3f} ms alone and {few[3]:.2f} ms beside only 5 %: fourteen times" in PAGE
    assert round(few[3] / alone[3]) == 14
    assert means[2] / means[0] < 1.5


@pytest.mark.slow
def test_the_figures_of_queue_depth_are_those_of_little() -> None:
    points = [(y, k_iops) for name, k_iops, y in CURVES["demand-intensity"]().rows if name == "100 % reads"]
    threads = (1, 2, 4, 8, 16, 32)
    outstanding = sorted(tc * qd for tc in {*threads} for qd in threads)
    for (mean_ms, k_iops), number in zip(points, outstanding, strict=True):
        assert k_iops * mean_ms == pytest.approx(number, rel=0.01)
    by_number = dict(zip(outstanding, points, strict=True))
    (one_ms, one), (ms_of_64, at_64) = by_number[1], by_number[64]
    assert f"{iops(at_64)} IOPS x {ms_of_64:.3f} ms = 64." in PAGE
    assert f"from 1 to 64 outstanding reads IOPS grow from {iops(one)} to {iops(at_64)}" in PAGE
    assert f"only from {one_ms:.3f} to {ms_of_64:.3f} ms" in PAGE
    assert f"{iops(by_number[128][1])} at 128 outstanding, {iops(by_number[1024][1])} at 1024" in PAGE
    assert f"{by_number[128][0]:.2f} ms, then {by_number[1024][0]:.2f} ms" in PAGE


@pytest.mark.slow
def test_the_figures_of_write_amplification() -> None:
    rows = list(CURVES["write-amplification"]().rows)
    enterprise, sata = (of(rows, name) for name in ("enterprise-tlc", "sata-reduction"))
    assert enterprise[0.1] == sata[0.1] == pytest.approx(1, abs=0.005)
    assert f"{enterprise[4.0]:.2f} on the enterprise drive, and {sata[4.0]:.2f} on the SATA drive" in PAGE
