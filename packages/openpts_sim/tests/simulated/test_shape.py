"""What planners foretell of a simulated drive is what the drive then says of itself."""

import pytest

from openpts._native import Shape, SimulatedDrive
from openpts.units import GB
from openpts_sim.presets import Preset, default_scale, shipped_presets

PAGE_MAPPED = [preset for preset in shipped_presets() if preset.model == "page-mapped"]


def foretold_and_made(preset: Preset, capacity_bytes: int, scale: int) -> tuple[Shape, SimulatedDrive]:
    shape = preset.shape(capacity_bytes, scale)
    assert shape is not None
    return shape, SimulatedDrive(preset, capacity_bytes=capacity_bytes, scale=scale, seed=1)


@pytest.mark.parametrize("preset", PAGE_MAPPED, ids=lambda preset: preset.name)
@pytest.mark.parametrize("simulated_gb", [1, 5])
def test_geometry_is_foretold(preset: Preset, simulated_gb: int) -> None:
    scale = max(1, preset.capacity_bytes // (simulated_gb * GB))
    shape, drive = foretold_and_made(preset, preset.capacity_bytes, scale)
    assert drive.geometry["superblocks"] == shape.superblocks
    assert drive.geometry["rows"] == shape.rows
    assert drive.simulated_bytes == pytest.approx(shape.user_bytes, abs=4096)


def test_the_default_scale_keeps_the_simulated_part_below_its_limit() -> None:
    for preset in shipped_presets():
        scale = default_scale(preset, preset.capacity_bytes)
        assert preset.capacity_bytes / scale <= 24 * GB
        assert scale == 1 or preset.capacity_bytes / (scale - 1) > 24 * GB
