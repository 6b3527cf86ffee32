"""A test that fails leaves its device as it was found, or its error says what is left changed."""

from typing import TYPE_CHECKING, cast

import pytest

from openpts.errors import InterruptedRunError, OpenptsError, RunFailedError
from openpts.runner.close_run import put_back_on_failure

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
