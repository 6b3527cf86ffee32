"""What becomes of processes that can't go on."""

import signal
import time
from contextlib import suppress

import pytest

from openpts.errors import FleetError
from openpts_many.sweep.processes import processes


def blocked() -> set[int]:
    return set(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))


def test_ctrl_c_is_for_the_sweep_which_ends_its_processes_at_once() -> None:
    began_s = time.monotonic()
    with suppress(KeyboardInterrupt), processes(1) as executor:
        assert signal.SIGINT in executor.submit(blocked).result()
        executor.submit(time.sleep, 120)
        raise KeyboardInterrupt
    assert time.monotonic() - began_s < 60
    assert signal.SIGINT not in blocked()


def test_a_process_that_is_killed_has_its_reason() -> None:
    with pytest.raises(FleetError, match="a process was killed"), processes(1) as executor:
        executor.submit(signal.raise_signal, signal.SIGKILL).result()
