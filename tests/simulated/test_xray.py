"""The X-ray on simulated drives, whose presets say what is inside."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts.vocabulary.drive_class import DriveClass
from openpts_twin.findings import Finding
from openpts_twin.xray.properties import findings_of
from openpts_twin.xray.results import xray_run
from tests.simulated.whole_tests import run_whole


def told(drive: str, folder: Path) -> Mapping[str, Finding]:
    run_whole("xray", DriveClass.ENTERPRISE, folder, lambda conditions: conditions, drive)
    return {one.name: one for one in findings_of(xray_run(read_run(folder))) if one.is_told}


def test_what_the_preset_says_is_found(tmp_path: Path) -> None:
    found = told("sim:enterprise-tlc?scale=48", tmp_path / "run")
    assert found["page_mapped.mapping.physical_per_user"].value == pytest.approx(1.28, abs=0.01)
    assert found["page_mapped.geometry.chunk_pages"].value == 4
    assert found["page_mapped.geometry.dies"].value == 64
    assert found["cache_bytes"].value == 0
    assert found["collects_in_idle"].value is True


def test_the_layout_shows_also_where_a_command_takes_longer_than_a_read(tmp_path: Path) -> None:
    """The controller takes 60 µs for a command, as the flash does for a read: pairs of reads never wait."""
    found = told("sim:mlc?scale=2&page_mapped.geometry.dies=4", tmp_path / "run")
    assert found["page_mapped.geometry.chunk_pages"].value == 4
    assert found["page_mapped.geometry.dies"].value == 4
    assert "collects_in_idle" not in found or found["collects_in_idle"].value is False


def test_a_log_of_blocks_is_not_taken_for_a_cache(tmp_path: Path) -> None:
    found = told("sim:log-block", tmp_path / "run")
    assert set(found) <= {"read_ahead"}
