"""Which signals end a run as Ctrl-C does."""

import os
import signal
from collections.abc import Iterator

import pytest

from openpts.runner.stop_signals import StopSignals, terminate_as_interrupt


@pytest.fixture
def nohup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_process_is_an_interrupt(sent) -> None:
    before = signal.getsignal(sent)
    with pytest.raises(KeyboardInterrupt), terminate_as_interrupt():
        os.kill(os.getpid(), sent)
    assert signal.getsignal(sent) is before


@pytest.mark.usefixtures("nohup")
def test_a_run_below_nohup_outlives_its_terminal() -> None:
    with terminate_as_interrupt(), StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.wished
    with terminate_as_interrupt():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
