"""The test of placement on simulated drives that follow handles, and on those that take and ignore them."""

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import TargetError
from openpts.fields.conditions import Conditions
from openpts.report.summary import summarize
from openpts.vocabulary.drive_class import DriveClass
from openpts_nvme.fdp import FdpConditions
from tests.simulated.whole_tests import run_whole

DRIVES = 100
WITHIN = 0.005


def drawn_drive(number: int, *, ignored: bool) -> str:
    """A small drive of some geometry, spare space and seed, with 2 to 8 handles."""
    draw = random.Random(number)
    parameters = {
        "page_mapped.placement.handles": draw.randint(2, 8),
        "page_mapped.placement.isolation": draw.choice(["initially", "persistently"]),
        "page_mapped.placement.ignored": str(ignored).lower(),
        "page_mapped.mapping.physical_per_user": round(draw.uniform(1.15, 1.4), 3),
        "page_mapped.geometry.superblocks": draw.choice([300, 400, 600]),
        "page_mapped.geometry.dies_per_group": draw.choice([8, 16]),
        "page_mapped.collection.pace": draw.choice(["paced", "burst"]),
    }
    words = "&".join(f"{name}={value}" for name, value in parameters.items())
    return f"sim:theory?capacity=250MB&seed={number}&{words}"


def shortened(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, FdpConditions)
    return replace(conditions, block_size_bytes=16384, qd=4, hot_pct=float(5 + conditions.seed % 10))


def figures(folder: Path, target: str, number: int = 1) -> dict[str, Any]:
    run = run_whole("fdp", DriveClass.ENTERPRISE, folder / str(number), shortened, target)
    return summarize(run)


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(DRIVES // 10))
@pytest.mark.parametrize("ignored", [True, False])
def test_each_of_a_hundred_drives_is_told(tmp_path: Path, tens: int, ignored: bool) -> None:
    for number in range(10 * tens + 1, 10 * tens + 11):
        found = figures(tmp_path, drawn_drive(number, ignored=ignored), number)
        assert found["placement"] == ("ignored" if ignored else "followed"), (number, found)


def test_amplification_is_that_of_the_model_and_streams_apart_cost_nothing(tmp_path: Path) -> None:
    """The model counts pages that it programs, and the host what its streams wrote."""
    loads = figures(tmp_path, drawn_drive(1, ignored=False))["loads"]
    for load in loads.values():
        model = load["amplification_by_media_counter"]
        assert load["amplification"] == pytest.approx(model, rel=WITHIN)
        assert load["host_bytes"] == load["streams_bytes"]
    assert loads["a_handle_each"]["amplification"] == pytest.approx(1, abs=WITHIN)
    assert loads["one_handle"]["amplification"] > 1.1


@pytest.mark.parametrize("handles", ["", "page_mapped.placement.handles=1"])
def test_a_drive_without_the_handles_is_refused_before_it_is_changed(tmp_path: Path, handles: str) -> None:
    with pytest.raises(TargetError, match=r"placement handle"):
        figures(tmp_path, f"sim:theory?capacity=250MB&{handles}".rstrip("&"))
