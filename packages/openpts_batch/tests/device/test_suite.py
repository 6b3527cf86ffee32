"""A suite on targets that exist: each test opens the target anew, with the consent that was given once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.units import MIB
from tests.support.openpts_process import Ended, openpts
from tests.support.transcript import Golden

# both in some seconds, and the client class locks little memory
SHORT = ("--tests", "hir,xsr", "--time-scale", "1/20000", "--class", "client", "--no-report")


def check(ended: Ended, folder: Path) -> None:
    assert ended.exit_code == 0, ended.stderr
    suite = ended.json
    assert [(entry["request"]["test_words"][0], entry["state"]) for entry in suite["entries"]] == [
        ("hir", "complete"),
        ("xsr", "complete"),
    ]
    for name in ("1-hir", "2-xsr"):
        manifest = read_run(folder / name).manifest
        assert manifest.state is RunState.COMPLETE
        (purge,) = manifest.purges
        assert purge.changed_samples == purge.samples > 0


@pytest.mark.slow
def test_a_file_that_a_test_has_written_to_is_the_next_ones_target(tmp_path: Path) -> None:
    ended = openpts("run", "all", "file:./x?size=128MiB", *SHORT, "--out", "s", "--json", cwd=tmp_path)
    check(ended, tmp_path / "s")


@pytest.mark.slow
def test_a_loop_device_is_confirmed_once(attach: Callable[..., Path], tmp_path: Path) -> None:
    device = str(attach(size_bytes=128 * MIB))
    words = ("run", "all", device, "--confirm-device-path", device, *SHORT, "--out", "s", "--json")
    check(openpts(*words, cwd=tmp_path), tmp_path / "s")


def test_without_consent_nothing_runs_and_the_index_says_so(
    attach: Callable[..., Path], tmp_path: Path, golden: Golden
) -> None:
    device = attach(size_bytes=128 * MIB)
    before = device.read_bytes()[:MIB]
    ended = openpts("run", "all", str(device), *SHORT, "--out", "s", cwd=tmp_path)
    assert ended.exit_code == 4
    assert ended.complaint.replace(str(device), "NODE") == golden
    assert not (tmp_path / "s/1-hir").exists()
    assert device.read_bytes()[:MIB] == before
