"""What becomes of executors whose processes or workers can't go on."""

import signal
from pathlib import Path

import pytest

from openpts.errors import FleetError
from openpts.sweep.executors import processes, slurm_workers


def test_a_process_that_is_killed_has_its_reason() -> None:
    with pytest.raises(FleetError, match="a process was killed"), processes(1) as executor:
        executor.submit(signal.raise_signal, signal.SIGKILL).result()


def test_without_slurm_there_is_a_reason_and_ctrl_c_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(FleetError, match="sinfo"), slurm_workers("sim", 1, tmp_path):
        pass
    assert signal.getsignal(signal.SIGINT) is before
