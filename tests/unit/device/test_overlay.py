"""Files on overlays whose layers lead back to the overlay: live systems have lowerdir=/ below their root."""

import pytest
from msgspec.structs import replace

from openpts.device.file_system import find_mount
from openpts.device.guard.overlay import stored_at
from openpts.errors import RefusedError
from openpts.runner.returning_drive import returning_device
from openpts.system_files import SystemRoots
from openpts.vocabulary.consent import Consent


@pytest.mark.parametrize("layer", ["/", "//.", "{link}"])
def test_a_layer_that_is_the_overlay_itself_is_no_place_of_a_file(layer, tmp_path) -> None:
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "self").mkdir()
    options = f"lowerdir={layer.format(link=tmp_path / 'link')},upperdir=/gone/upper,workdir=/gone/work"
    (tmp_path / "self/mountinfo").write_text(f"27 1 0:50 / / rw - overlay overlay rw,{options}\n")
    file = tmp_path / "plain"
    file.touch()
    with pytest.raises(RefusedError, match=r"refused \[overlay\]"):
        stored_at(file, replace(SystemRoots(), proc=tmp_path))


@pytest.mark.on_disk
@pytest.mark.needs("files")
def test_a_file_that_is_opened_again_after_a_power_cut_is_refused_before_it(tmp_path, monkeypatch) -> None:
    found = find_mount(tmp_path, SystemRoots())
    assert found is not None
    overlay = replace(found, fs_type="overlay", super_options="lowerdir=/")
    monkeypatch.setattr("openpts.device.guard.overlay.find_mount", lambda *_: overlay)
    monkeypatch.setattr("openpts.device.guard.overlay.other_roots", lambda _roots: ())
    file = tmp_path / "new"
    with (
        pytest.raises(RefusedError, match=r"refused \[overlay\]"),
        returning_device(f"file:{file}?size=8MiB", Consent(), "run"),
    ):
        pass
    assert not file.exists()
