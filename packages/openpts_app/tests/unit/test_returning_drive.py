"""A target that is opened again after a power cut passes the guard each time."""

import pytest
from msgspec.structs import replace

from openpts.device.block_device import find_mount
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from openpts_app.drivers.power_cut import returning_device


@pytest.mark.on_disk
@pytest.mark.needs("files")
def test_a_file_that_is_opened_again_after_a_power_cut_is_refused_before_it(tmp_path, monkeypatch) -> None:
    found = find_mount(tmp_path, SystemRoots())
    assert found is not None
    overlay = replace(found, fs_type="overlay", super_options="lowerdir=/")
    monkeypatch.setattr("openpts.device.guard.usage.find_mount", lambda *_: overlay)
    monkeypatch.setattr("openpts.device.guard.usage.other_roots", lambda _roots: ())
    file = tmp_path / "new"
    with (
        pytest.raises(RefusedError, match=r"refused \[overlay\]"),
        returning_device(f"file:{file}?size=8MiB", Consent(), "run"),
    ):
        pass
    assert not file.exists()
