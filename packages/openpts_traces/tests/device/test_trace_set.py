"""Scores of a set on targets that exist: a file, and a drive of the kernel, with a background and without."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.units import KIB, MIB
from tests.support.openpts_process import Ended, openpts
from tests.support.small_recipe import BACKGROUND_WRITES, FOREGROUND, write_recipe

_CAPACITY = 64 * MIB
_WORDS = ("--until-rse", "0", "--out", "run", "--json", "--telemetry-period", "off")


def scored(folder: Path, target: str, *words: str) -> Ended:
    write_recipe(folder / "small.toml", 1)
    ended = openpts("run", "replay", target, "--traces", "./small.toml", *_WORDS, *words, cwd=folder)
    assert ended.exit_code == 0, ended.stderr
    return ended


@pytest.mark.needs("io_uring")
@pytest.mark.long("two traces, four loads, several passes each, in real time")
def test_a_score_on_a_file_is_that_of_its_record(tmp_path: Path) -> None:
    ended = scored(tmp_path, f"file:./x?size={_CAPACITY // MIB}MiB")
    assert [one["load"] for one in ended.json["scores"]] == [
        "alone, full", "alone, busy-only", "with own background, full", "with own background, busy-only",
    ]  # fmt: skip
    for one in ended.json["scores"]:
        operations = one["median_pass"]["operations"]
        assert {name: operations[name]["ios"] for name in FOREGROUND} == FOREGROUND
        assert one["warm"]["median"] > 0
        assert one["cold"] > 0
    assert not ended.json["not_scored"]
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0


@pytest.mark.slow
def test_a_drive_gets_the_foreground_alone_and_with_the_background(
    attach_memory: Callable[[int], Path], tmp_path: Path
) -> None:
    drive = attach_memory(_CAPACITY)
    counted = Path("/sys/block") / drive.name / "stat"

    def written_bytes() -> int:
        return 512 * int(counted.read_text().split()[6])

    def written(background: str) -> int:
        before_bytes = written_bytes()
        words = ("--confirm-device-path", str(drive), "--purge", "none", "--idle", "busy-only")
        folder = tmp_path / background
        folder.mkdir()
        scored(folder, str(drive), *words, "--passes", "4", "--background", background)
        return written_bytes() - before_bytes

    alone_bytes, both_bytes = written("none"), written("own")
    # the same twice, and the background in each of five passes, and once before
    assert both_bytes - 2 * alone_bytes == 6 * BACKGROUND_WRITES * 64 * KIB
