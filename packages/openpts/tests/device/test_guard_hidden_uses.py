"""Uses of a drive that its list of open descriptors does not show, or shows under a false name."""

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from openpts.system_files import SystemRoots
from tests.support.refusals import assert_refused, hold_as, hold_mapped_in_thread, hold_registered


def test_a_drive_that_a_thread_has_mapped_whose_process_began_with_another(
    attach: Callable[..., Path], cleanup: ExitStack, roots: SystemRoots
) -> None:
    node = attach()
    pid = hold_mapped_in_thread(node, cleanup)
    assert_refused(node, "open", f"is mapped by process {pid} (", roots)


@pytest.mark.parametrize("name", ["systemd-udevd", "(udev-worker)"])
def test_a_program_that_takes_the_name_of_udev(
    name: str, attach: Callable[..., Path], cleanup: ExitStack, roots: SystemRoots
) -> None:
    node = attach()
    pid = hold_as(name, node, cleanup)
    assert_refused(node, "open", f"is open in process {pid} ({name})", roots)


def test_a_drive_that_is_registered_with_io_uring(
    attach: Callable[..., Path], cleanup: ExitStack, roots: SystemRoots
) -> None:
    node = attach()
    try:
        pid = hold_registered(node, cleanup)
    except AssertionError:
        pytest.skip("io_uring is switched off here")
    assert_refused(node, "open", f"is open in process {pid} (", roots)


@pytest.mark.parametrize("layer", ["relative", "linked"])
def test_a_file_that_is_open_in_an_overlay_whose_layer_has_another_name(
    layer: str, tmp_path: Path, attach: Callable[..., Path], cleanup: ExitStack, roots: SystemRoots
) -> None:
    for name in ("images", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    image = tmp_path / "images/a"
    image.write_bytes(bytes(16 << 20))
    (tmp_path / "link").symlink_to("images")
    lower = "images" if layer == "relative" else tmp_path / "link"
    options = f"lowerdir={lower},upperdir={tmp_path / 'upper'},workdir={tmp_path / 'work'}"
    mounted = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", options, "merged"], cwd=tmp_path, check=False
    )
    if mounted.returncode:
        pytest.skip("no overlays here")
    cleanup.callback(subprocess.run, ["umount", tmp_path / "merged"], check=True)
    holder = cleanup.enter_context((tmp_path / "merged/a").open("rb"))
    child = cleanup.enter_context(subprocess.Popen(["sleep", "100"], stdin=holder))
    cleanup.callback(child.kill)
    assert_refused(attach(on=image), "backing", f"is open in process {child.pid} (sleep)", roots)
