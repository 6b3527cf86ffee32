"""Filling drives in virtual time: with a cache of known size, without one, and by a script."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.runner.settings import Adjust
from openpts.units import GB
from openpts.vocabulary.drive_class import DriveClass
from openpts_practice.fill import FillConditions
from openpts_sim.presets import load_preset
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.whole_tests import run_whole


def adjusted(**changes: object) -> Adjust:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, FillConditions)
        return replace(conditions, **changes)

    return adjust


def test_a_drive_with_a_cache_shows_its_end_and_gets_some_of_it_back(tmp_path: Path) -> None:
    run = run_whole("fill", DriveClass.CLIENT, tmp_path / "run")
    figures = summarize(run)
    first, *_, last = figures["segments"]
    # at a scale, each of the hundred steps ends with a whole simulated I/O
    assert figures["written_bytes"] == pytest.approx(256e9, rel=1e-3)
    # by the formula of the model's cache: 31.3 GB, which no step of 2.56 GB ends at
    share = load_preset("client-qlc").slc_burst_share
    assert share is not None
    assert figures["cache_end_bytes"] == pytest.approx(share * 256e9, rel=0.005)
    low, high = figures["cache_end_between_bytes"]
    assert high - low < 1.6 * GB  # a second at the first rate
    assert first["mb_per_s"] > 5 * last["mb_per_s"]
    given_back = [one["returned_bytes"] for one in figures["idle_times"]]
    assert given_back[0] == 0
    assert all(0 < amount < figures["cache_end_bytes"] for amount in given_back[1:])
    iops = [burst["iops"] for burst in figures["bursts"]]
    assert iops[0] > 5 * max(iops[1:])
    build_report(run, default_date(run))


@pytest.mark.slow  # the drive with a cache is written whole, too
def test_a_drive_without_a_cache_fills_at_one_rate(tmp_path: Path) -> None:
    assert load_preset("enterprise-tlc").slc_burst_share is None
    run = run_whole("fill", DriveClass.ENTERPRISE, tmp_path / "run")
    figures = summarize(run)
    assert len(figures["segments"]) == 1
    assert {one["returned_bytes"] for one in figures["idle_times"]} == {0}
    # in sequence, each byte takes its share of 128 % of the capacity, but for the blocks that are open
    shown = build_report(run, default_date(run)).tables()["fill-curve-values"]
    free_pct = [100 - float(row.head.text) / 1.28 for row in shown.rows]
    assert [float(row.cells[-1].text) for row in shown.rows] == pytest.approx(free_pct, abs=1.5)


@pytest.mark.proves("HYP-FILL-02")
def test_break_points_of_a_script_are_found_where_it_has_them(tmp_path: Path) -> None:
    """Rates by bytes written: 4 MB/s for 30.5 % of the capacity, 1 for 36.6 %, then half of that.

    Neither place is that of a step, of which there is one for each per cent.
    """
    part = CAPACITY_BYTES * 61 // 1000
    rates = [rate * 1e6 / 131_072 for rate in (*[4] * 5, *[1] * 6, 0.5)]
    preset = write_oracle(tmp_path, rates, by="bytes-written", every=part)
    adjust = adjusted(levels_pct=(100.0,))
    run = run_whole("fill", DriveClass.ENTERPRISE, tmp_path / "run", adjust, f"sim:{preset}")
    figures = summarize(run)
    one_step = CAPACITY_BYTES / 100
    for name, parts in (("cache_end", 5), ("collection_start", 11)):
        assert figures[f"{name}_bytes"] == pytest.approx(parts * part, abs=0.1 * one_step)
        low, high = figures[f"{name}_between_bytes"]
        assert low <= parts * part <= high
    assert [segment["mb_per_s"] for segment in figures["segments"]] == pytest.approx([4, 1, 0.5], rel=0.05)
    # idle time gives nothing back: the script goes by what was written
    assert {one["returned_bytes"] for one in figures["idle_times"]} == {0}
