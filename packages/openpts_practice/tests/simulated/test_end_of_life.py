"""The end of a drive's life, found where a formula or a script says that it is."""

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.vocabulary.drive_class import DriveClass
from openpts_practice.lifetime import StopOn
from tests.support.endurance_presets import write_short_lived
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.page_blocks import rows, tables, texts
from tests.support.whole_tests import run_whole


def lived(folder: Path, target: str, **changes: Any) -> Run:
    limits = {"drive_cycles": 300, "wear_limit_pct": 1000, "longest_ns": 10**18}
    return run_whole(
        "lifetime",
        DriveClass.ENTERPRISE,
        folder / "run",
        lambda conditions: replace(conditions, **{**limits, "stop_on": StopOn.FAILED_WRITE, **changes}),
        target,
    )


def drive_writes(mean: float, deviation: float, blocks: float, spare: float, erases_each: float) -> float:
    """Until the first write fails: what the dead blocks gave, and the others up to the last dead one's.

    Normally distributed lives; ``erases_each`` are those of all blocks in one sequential drive write.
    """
    law, share = NormalDist(mean, deviation), spare / blocks
    last = law.inv_cdf(share)
    of_dead = mean - deviation**2 * law.pdf(last) / share
    return blocks * (share * of_dead + (1 - share) * last) / erases_each


@pytest.mark.proves("HYP-LIFE-03")
@pytest.mark.parametrize("failing_cycle", [3, 8])
def test_the_cycle_in_which_a_write_fails_is_the_scripts(tmp_path: Path, failing_cycle: int) -> None:
    after = int((failing_cycle - 0.5) * CAPACITY_BYTES)
    preset = write_oracle(tmp_path, [10_000.0], extra=f"[oracle.errors]\nread_only_after_bytes = {after}\n")
    figures = summarize(lived(tmp_path, f"sim:{preset}"))
    # the marks of the purge are written as well
    assert figures["end_of_life_cycle"] == failing_cycle
    assert figures["whole_cycles"] == failing_cycle - 1


UNITS, LOG_PLACES, SPARE = 477, 8, 10
"""Blocks of the card of 32 GB: its units, a log of 1/64 of a unit for each, and 2 % of both to spare."""
SMALL_UNITS = (
    ("unit_pages = 16384", "unit_pages = 1024"),
    ("log_pages_per_unit = 256", "log_pages_per_unit = 16"),
)


@pytest.mark.slow
def test_the_end_of_a_card_is_found_within_two_per_cent(tmp_path: Path) -> None:
    """As many blocks as the card has, of a sixteenth of the size.

    Each pass erases all units once, and all blocks of the log as often as the log fits into the drive.
    """
    mean = 250.0
    erases_each = UNITS + 1024 // 16 * LOG_PLACES
    preset = write_short_lived(tmp_path, "log-block", mean, 200.0, *SMALL_UNITS)
    run = lived(tmp_path, f"sim:{preset}?capacity=2000420864&scale=1")
    assert_ended_after(run, drive_writes(mean, 0.05 * mean, UNITS + LOG_PLACES + SPARE, SPARE, erases_each))


@pytest.mark.proves("HYP-LIFE-03")
@pytest.mark.slow
@pytest.mark.parametrize("preset", ["mlc", "pslc", "tlc"])
def test_the_end_of_a_stick_is_found_within_two_per_cent(tmp_path: Path, preset: str) -> None:
    mean = 60.0
    run = lived(tmp_path, f"sim:{write_short_lived(tmp_path, preset, mean, 45.0)}?capacity=4GB&scale=1")
    geometry = {name: fact.value for name, fact in run.manifest.engine.items()}
    superblocks = float(geometry["geometry_superblocks"] or 0)
    user = float(geometry["geometry_user_pages"] or 0) / float(geometry["geometry_superblock_pages"] or 1)
    dead = run.health[-1].reading.values["bad_superblocks"]
    deviation = mean * (0.08 if preset == "tlc" else 0.05)
    amplification = summarize(run)["write_amplification"]
    assert_ended_after(run, drive_writes(mean, deviation, superblocks, dead, user * amplification))


def assert_ended_after(run: Run, expected_drive_writes: float) -> None:
    figures = summarize(run)
    cycle = figures["end_of_life_cycle"]
    assert figures["ended_by"].startswith(f"first failed write in cycle {cycle}: ")
    found = figures["written_bytes"] / run.manifest.target.user_capacity_bytes
    assert found == pytest.approx(expected_drive_writes, rel=0.02)
    assert cycle == math.ceil(found)


@pytest.mark.proves("HYP-LIFE-02")
def test_read_errors_are_counted_by_cycle_reason_and_address(tmp_path: Path) -> None:
    bad = [2048, 4096, 100_000]
    after = 4 * CAPACITY_BYTES + CAPACITY_BYTES // 2
    errors = f"[oracle.errors]\nunreadable_lbas = {bad}\nread_only_after_bytes = {after}\n"
    run = lived(tmp_path, f"sim:{write_oracle(tmp_path, [10_000.0], extra=errors)}")
    figures = summarize(run)
    assert figures["end_of_life_cycle"] == 5
    assert [cycle["io_errors"] for cycle in figures["cycles"]] == [3, 3, 3, 3, 32]
    assert [cycle["complete"] for cycle in figures["cycles"]] == [True] * 4 + [False]
    assert run.ledger == tuple(entry for entry in run.ledger if "unrecovered" not in entry.used)
    (page,) = [
        page
        for section in build_report(run, default_date(run)).sections
        for page in section.pages
        if page.id == "lifetime-errors"
    ]
    shown = tables(page)
    assert [texts(row) for row in rows(shown["lifetime-errors-values"]).values()] == [
        ["3", "3"], ["3", "6"], ["3", "9"], ["3", "12"], ["32", "44"]
    ]  # fmt: skip
    assert [(head, texts(row)[0]) for head, row in rows(shown["lifetime-errors-reasons"]).items()] == [
        ("read: unrecovered read error", "12"),
        ("write: the drive is read-only", "32"),
    ]
    block = 128 * 1024 // 512
    of_reads = {str(lba // block * block): "4" for lba in bad}
    found = {head: texts(row)[0] for head, row in rows(shown["lifetime-errors-addresses"]).items()}
    assert {head: found[head] for head in of_reads} == of_reads
    # 32 I/Os were outstanding when writes began to fail, of which a record has 16 addresses
    assert len(found) == len(bad) + 16


def test_by_default_the_first_read_error_ends_it(tmp_path: Path) -> None:
    errors = "[oracle.errors]\nunreadable_lbas = [2048]\n"
    target = f"sim:{write_oracle(tmp_path, [10_000.0], extra=errors)}"
    figures = summarize(lived(tmp_path, target, stop_on=StopOn.FIRST_ERROR))
    assert figures["ended_by"] == "first failed read in cycle 1: unrecovered read error"
    assert figures["end_of_life_cycle"] is None
