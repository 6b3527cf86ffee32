"""The test of trims on a loop device: the kernel's own trims, and what is read after them."""

from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.trimmed_reads import Promise
from tests.support.openpts_process import Ended, openpts

SIZE_BYTES = 64 * 2**20
OPTIONS = (
    "--step-seconds 0.2 --sizes 4KiB,4MiB --qds 1,2 --trims 20 --precondition-passes 0.5 --beside-size 1MiB "
    "--beside-rate 20 --tc 1 --qd 2 --no-report"
)


def trim_test(node: Path, cwd: Path) -> Ended:
    return openpts(
        *("run", "trim", str(node), "--confirm-device-path", str(node), "--out", "run", *OPTIONS.split()),
        cwd=cwd,
    )


def test_trims_reach_the_device_and_what_is_left_is_read(attach, tmp_path: Path) -> None:
    node = attach(size_bytes=SIZE_BYTES)
    if (Path("/sys/block") / node.name / "queue/discard_max_bytes").read_text().strip() == "0":
        pytest.skip("this loop device has no discard")
    ended = trim_test(node, tmp_path)
    assert ended.exit_code == 0, ended.complaint
    run = read_run(tmp_path / "run")
    found = summarize(run)
    # 32 MiB are half of it: 8 trims of 4 MiB, those of two threads alike
    assert [(point["size_bytes"], point["qd"], point["ios"]) for point in found["points"]] == [
        (4096, 1, 20),
        (4096, 2, 20),
        (4 * 2**20, 1, 8),
        (4 * 2**20, 2, 8),
    ]
    assert set(found["beside"]) == {"reads", "writes"}
    assert run.phase(Phase.LOAD, number=2)[-1].sample.trim.ios == pytest.approx(4, abs=1)
    trimmed = run.manifest.trimmed
    assert trimmed is not None
    assert (trimmed.promise, trimmed.seen) == (Promise.UNKNOWN, "zeros")
    assert trimmed.sectors == 16 * 2**20 // 512
    assert trimmed.limits.most_bytes
