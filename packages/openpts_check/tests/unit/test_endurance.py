"""Wear: years by exact arithmetic, the flash of fuller drives by theory in closed form, loads in words."""

import json
import math

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from openpts.errors import NoVerdictError, UsageError
from openpts.units import GB, KIB, MB, TB
from openpts.vocabulary.facts import HealthReading
from openpts_check.cli.check import check
from openpts_check.cli.endurance import (
    S_PER_DAY,
    EnduranceDocument,
    Rate,
    Stretch,
    WornDrive,
    amplification_when_full,
    like,
)
from openpts_check.seen import Endurance

DAYS_PER_YEAR = 365


def reading(**values: float) -> HealthReading:
    return HealthReading("a log of a test", values)


def test_life_left_is_what_the_log_says_of_the_life_so_far() -> None:
    log = reading(host_write_bytes=30 * TB, percentage_used_pct=6)
    endurance = Endurance.of(log, log)
    assert endurance.rated_bytes == pytest.approx(500 * TB)
    assert endurance.years_at(100 * GB / S_PER_DAY) == pytest.approx(470 * TB / (100 * GB) / DAYS_PER_YEAR)


@pytest.mark.parametrize(
    "log", [reading(), reading(host_write_bytes=1), reading(host_write_bytes=1, percentage_used_pct=0)]
)
def test_a_log_without_wear_says_nothing(log) -> None:
    assert Endurance.of(log, log) is None


@given(st.floats(1, 100), st.floats(0.01, 2))
def test_theory_is_that_of_lambert(full_pct, spare) -> None:
    """Desnoyers' closed form: with a = 1 / utilization, the share still valid is -W(-a exp(-a)) / a."""
    a = (1 + spare) * 100 / full_pct
    valid = float(-lambertw(-a * math.exp(-a)).real) / a
    assert amplification_when_full(full_pct, spare) == pytest.approx(1 / (1 - valid), rel=1e-6)


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("50GB/day", 50 * GB / S_PER_DAY),
        ("3MB/s", 3 * MB),
        ("1.5 TB per year", 1.5 * TB / DAYS_PER_YEAR / S_PER_DAY),
        ("0.5DWPD", 0.5 * TB / S_PER_DAY),
        ("36 GB/h", 10 * MB),
    ],
)
def test_rates_in_words(text, bytes_per_s) -> None:
    found = like(text, TB)
    assert isinstance(found, Rate)
    assert found.bytes_per_s == pytest.approx(bytes_per_s)


def test_a_program_is_one_word_with_its_arguments() -> None:
    assert like("sh -c 'sleep 1; true'", TB) == ("sh", "-c", "sleep 1; true")


def test_what_is_neither_rate_nor_program_nor_trace_is_refused() -> None:
    with pytest.raises(UsageError, match="is no rate"):
        like("fifty a day", TB)


def test_a_trace_has_its_own_rate(tmp_path) -> None:
    """Ten writes of 4 KiB, a second apart from the first to the last but for their own times."""
    trace = tmp_path / "iolog"
    lines = ["fio version 3 iolog", "0 x add", "0 x open"]
    lines += [f"{1_000_000 * second} x write {4096 * second} 4096" for second in range(11)]
    trace.write_text("\n".join([*lines, "10000000 x close", ""]))
    found = like(str(trace), TB)
    assert isinstance(found, Rate)
    assert found.bytes_per_s == pytest.approx(11 * 4 * KIB / 10, rel=0.11)


def test_a_stretch_is_judged_by_the_drives_own_log() -> None:
    before = reading(host_write_bytes=40 * TB, nand_write_bytes=100 * TB, percentage_used_pct=10)
    after = reading(
        host_write_bytes=40 * TB + 6 * GB, nand_write_bytes=100 * TB + 15 * GB, percentage_used_pct=10
    )
    drive = WornDrive("a drive", TB, None, None, full_pct=50)
    found = EnduranceDocument.by(
        drive, Rate(100 * MB, "measured"), Stretch(60, 6 * GB, before, after), 600 * TB
    )
    assert found.amplification == pytest.approx(2.5)
    assert found.drive_writes_per_day == pytest.approx(8.64)
    assert found.years_by_rating == pytest.approx(
        (560 * TB - 6 * GB) / (100 * MB) / S_PER_DAY / DAYS_PER_YEAR
    )
    assert found.years_by_log == pytest.approx(
        9 * (40 * TB + 6 * GB) / (100 * MB) / S_PER_DAY / DAYS_PER_YEAR
    )
    # as full as now it lasts as long as now, and every fuller one less
    years = [one.years for one in found.fuller if one.years is not None]
    assert years[0] == pytest.approx(found.years_by_rating)
    assert years == sorted(years, reverse=True)


def test_without_writes_nothing_can_be_said() -> None:
    log = reading(host_write_bytes=TB, percentage_used_pct=1)
    found = EnduranceDocument.by(
        WornDrive("a drive", TB, None), Rate(0, "measured"), Stretch(60, 0, log, log), TB
    )
    assert (found.years_by_log, found.years_by_rating) == (None, None)
    assert any("nothing was written" in line for line in found.lines())


def called(*words: str) -> Result:
    return CliRunner().invoke(check, [*words, "--for", "endurance"], standalone_mode=False)


def test_a_simulated_drive_has_the_rating_of_its_preset() -> None:
    ended = called("sim:client-qlc", "--like", "50GB/day", "--json")
    found = json.loads(ended.stdout)
    assert ended.return_value == 0
    assert found["rated_bytes"] == 400 * TB
    assert found["years_by_rating"] == pytest.approx(400 * TB / (50 * GB) / DAYS_PER_YEAR)


def test_without_a_rating_the_exit_code_is_that_of_no_verdict() -> None:
    assert called("sim:mlc", "--like", "50GB/day").return_value == NoVerdictError.exit_code
