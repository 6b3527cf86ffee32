"""What is sampled of an NVMe drive behind the kernel's own driver, held against the kernel's tables."""

from itertools import pairwise
from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts.units import NS_PER_S
from openpts_host.telemetry_blocks import foreign_io
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

SHORT = "--purge none --step-seconds 0.2 --max-rounds 1 --precondition-passes 0.1 --tc 1 --qd 8 --no-report"


def interrupts_of_the_drive(table: Path) -> int:
    """All vectors of nvme0 and all processors, from a copy of /proc/interrupts."""
    head, *lines = table.read_text().splitlines()
    processors = len(head.split())
    counts = [line.split()[1 : 1 + processors] for line in lines if line.split()[-1].startswith("nvme0q")]
    assert counts
    return sum(int(count) for of_vector in counts for count in of_vector)


def test_interrupts_link_and_io_of_others_on_an_nvme_drive(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "128M",
        script=f"""
        cat /proc/interrupts > {tmp_path}/before
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 {SHORT} --cpus 0 \
            --telemetry-period 0.2s --out {tmp_path}/run || exit 10
        cat /proc/interrupts > {tmp_path}/after
        cat /sys/block/nvme0n1/device/device/current_link_speed > {tmp_path}/speed
        """,
        timeout_s=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run = read_run(tmp_path / "run")
    told = run.manifest.telemetry
    assert str(told["interrupts"].value).endswith("vectors; each 0.2 s")
    counted = interrupts_of_the_drive(tmp_path / "after") - interrupts_of_the_drive(tmp_path / "before")
    rates = run.telemetry_series["interrupts_per_s"]
    # a value holds until the next one is stored
    moments = zip(pairwise(rates.t_ns), rates.values[:-1], strict=True)
    summed = sum((after - before) * rate / NS_PER_S for (before, after), rate in moments)
    # what identifies and probes the drive comes before the first sample
    assert summed == pytest.approx(counted, rel=0.4)
    assert f"{run.telemetry_series['link_gt_per_s'].values[0]:.1f} GT/s" in (tmp_path / "speed").read_text()
    assert {"cpu_engine_busy_pct", "cpu_others_busy_pct", "temperature_c"} <= run.telemetry_series.keys()
    (said,) = foreign_io(run, run.telemetry_series["foreign_bytes"])
    assert said.tone == "pass", said.text
