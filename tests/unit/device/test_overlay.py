"""Files on overlays whose layers lead back to the overlay: live systems have lowerdir=/ below their root."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.guard.overlay import stored_at
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots


@pytest.mark.parametrize("layer", ["/", "//.", "{link}"])
def test_a_layer_that_is_the_overlay_itself_is_no_place_of_a_file(layer: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "self").mkdir()
    options = f"lowerdir={layer.format(link=tmp_path / 'link')},upperdir=/gone/upper,workdir=/gone/work"
    (tmp_path / "self/mountinfo").write_text(f"27 1 0:50 / / rw - overlay overlay rw,{options}\n")
    file = tmp_path / "plain"
    file.touch()
    with pytest.raises(RefusedError, match=r"refused \[overlay\]"):
        stored_at(file, replace(SystemRoots(), proc=tmp_path))
