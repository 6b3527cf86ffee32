"""Estimates of planning, against SciPy and against figures worked out by hand."""

import math

import pytest
from scipy.special import lambertw

from openpts._native import Shape
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Stimulus
from openpts_sim.presets import Preset, expected_iops, load_preset

TB = 10**12


def shape(preset: str, capacity_bytes: int, scale: int = 1) -> Shape:
    found = load_preset(preset).shape(capacity_bytes, scale)
    assert found is not None
    return found


def stimulus(block_size_bytes: int, read_pct: int, pattern: AccessPattern = AccessPattern.RANDOM) -> Stimulus:
    return Stimulus.of(pattern, block_size_bytes, read_pct, 4, 64, ActiveRange())


def closed_form(alpha: float) -> float:
    return float(alpha / (alpha + lambertw(-alpha * math.exp(-alpha)).real))


@pytest.mark.parametrize("alpha", [1.01, 1.07, 1.125, 1.28, 1.52, 2.0, 5.0])
def test_write_amplification_is_the_closed_form_with_lamberts_w(alpha) -> None:
    """Where a program alone takes time, random writes are slower by the amplification."""
    text = load_preset("theory").text
    for old, new in [
        ("physical_per_user = 1.28", f"physical_per_user = {alpha}"),
        ("read_us = 50.0", "read_us = 0.0"),
        ("erase_us = 2000.0", "erase_us = 0.001"),
        ("rows_per_erase = 64", "rows_per_erase = 1_000_000"),
    ]:
        assert old in text
        text = text.replace(old, new)
    found = Preset(text).shape(TB, 1)
    assert found is not None
    fresh, steady = (expected_iops(found, stimulus(4096, 0), fresh=fresh) for fresh in (True, False))
    assert fresh / steady == pytest.approx(closed_form(alpha), rel=1e-9)


def test_geometry_of_the_enterprise_drive_by_hand() -> None:
    found = shape("enterprise-tlc", 1_600_321_314_816, 68)
    pages = 1_600_321_314_816 // 68 // 4096
    assert found.physical_pages == round(1.28 * pages)
    assert found.rows == round(found.physical_pages / (64 * 24) / 600)
    assert found.superblocks == round(found.physical_pages / (64 * 24 * found.rows))
    assert found.buffer_bytes == 128 * 24 * 4096
    assert found.fresh_write_bytes_per_s == pytest.approx(64 * 24 * 4096 / 2880e-6)


def test_steady_random_writes_of_the_enterprise_drive_are_those_of_the_formula() -> None:
    # D / (A tP/PU + (A-1) tR/n_c + A tE/(rows PU)), n_c = su v / (1 - (1-v)^su)
    a = closed_form(1.28)
    v = 1 - 1 / a
    n_c = 4 * v / (1 - (1 - v) ** 4)
    iops = 64 / ((a * 2880 / 24 + (a - 1) * 62 / n_c + a * 8000 / (544 * 24)) * 1e-6)
    assert iops == pytest.approx(189e3, rel=0.02)
    assert expected_iops(shape("enterprise-tlc", TB), stimulus(4096, 0)) == pytest.approx(iops)


def test_reads_are_limited_by_front_end_link_or_flash() -> None:
    enterprise = shape("enterprise-tlc", TB)
    assert expected_iops(enterprise, stimulus(4096, 100)) == pytest.approx(1e6 / 1.5)
    assert expected_iops(enterprise, stimulus(2**20, 100)) == pytest.approx(3.37e9 / 2**20)
    small = shape("client-qlc", 512 * 10**9)
    assert expected_iops(small, stimulus(4096, 100)) == pytest.approx(4 / 110e-6)


def test_a_mix_takes_the_time_of_its_parts() -> None:
    enterprise = shape("enterprise-tlc", TB)
    reads, writes = (expected_iops(enterprise, stimulus(8192, pct)) for pct in (100, 0))
    assert expected_iops(enterprise, stimulus(8192, 65)) == pytest.approx(1 / (0.65 / reads + 0.35 / writes))


def test_sequential_and_fresh_writes_know_no_collection() -> None:
    enterprise = shape("enterprise-tlc", TB)
    sequential = expected_iops(enterprise, stimulus(2**17, 0, AccessPattern.SEQUENTIAL))
    assert sequential == pytest.approx(64 * 24 * 4096 / 2880e-6 / 2**17)
    assert expected_iops(enterprise, stimulus(2**17, 0), fresh=True) == pytest.approx(sequential)


def test_larger_drives_of_a_family_have_more_dies() -> None:
    rates = [shape("client-qlc", gb * 10**9).fresh_write_bytes_per_s for gb in (100, 512, 1024, 1500, 2048)]
    assert [round(rate / rates[0]) for rate in rates] == [1, 1, 2, 3, 4]


def test_the_single_bit_cache_ends_at_the_share_of_the_formula() -> None:
    share = load_preset("client-qlc").slc_burst_share
    assert share == pytest.approx((0.047 * 1.074 + 0.5) / 4.5)
    assert load_preset("tlc").slc_burst_share == pytest.approx(1 / 4)
    assert load_preset("enterprise-tlc").slc_burst_share is None


def test_an_oracle_has_no_shape() -> None:
    assert load_preset("oracle").shape(TB, 1) is None


def test_a_log_block_drive_merges_a_unit_for_each_page_at_random() -> None:
    card = shape("log-block", 32 * 10**9)
    assert card.settling_ns == pytest.approx((16384 * (1600 / 8 + 60 / 2) + 3000) * 1000)
    amplification = 1 + 16384 / 257
    assert expected_iops(card, stimulus(4096, 0)) == pytest.approx(8 / 1600e-6 / amplification)
