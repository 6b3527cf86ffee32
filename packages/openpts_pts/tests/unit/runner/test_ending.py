"""How a run ends: by its script, at its resumption, with settings put back after a failure."""

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from openpts.errors import InterruptedRunError, OpenptsError, RunFailedError
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.record.writer import RunWriter
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import put_back_on_failure, run_test
from openpts.runner.settings import RunSettings
from openpts.runner.stop_signals import StopSignals, terminate_as_interrupt
from openpts.vocabulary.purge import Consent
from tests.support.shortened_runs import shortened_run


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


def test_a_run_that_lacks_only_its_end_is_completed(tmp_path) -> None:
    whole = shortened_run("thermal", tmp_path / "run", target="sim:enterprise-tlc?capacity=4GB")
    writer = RunWriter.reopen(whole.folder)
    writer.update_manifest(state=RunState.RUNNING, ended_at=None)
    writer.close()
    settings = RunSettings.to_resume(Resumption(read_run(whole.folder)), Consent())
    run_test(PROCEDURES["thermal"], settings, [])
    run = read_run(whole.folder)
    assert run.manifest.state is RunState.COMPLETE
    assert run.steps == whole.steps
    assert run.ledger == whole.ledger
    assert [attempt.steps for attempt in run.manifest.attempts] == [0, len(whole.steps)]
    assert run.manifest.cycles == whole.manifest.cycles


if TYPE_CHECKING:
    from openpts.runner.device_under_test import DeviceUnderTest


class Device:
    def __init__(self, left: str | None) -> None:
        self.left, self.asked = left, 0

    def put_back(self) -> str | None:
        self.asked += 1
        return self.left


def ended(device: Device, error: OpenptsError | None) -> None:
    with put_back_on_failure(cast("DeviceUnderTest", device)):
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [RunFailedError("read failed"), InterruptedRunError("stopped")])
def test_what_could_not_be_put_back_is_in_the_error(error) -> None:
    device = Device("the write cache of x could not be set back")
    with pytest.raises(type(error), match=f"^{error}; the write cache of x could not be set back$"):
        ended(device, error)


def test_a_failure_is_as_it_is_where_all_was_put_back() -> None:
    device = Device(None)
    with pytest.raises(RunFailedError, match=r"^read failed$"):
        ended(device, RunFailedError("read failed"))
    assert device.asked == 1


def test_a_test_that_ends_well_goes_on_with_its_device() -> None:
    device = Device(None)
    ended(device, None)
    assert device.asked == 0
