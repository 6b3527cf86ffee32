"""What is looked at before and after a test, off its path: the device's log and the host's settings."""

from collections.abc import Iterator
from contextlib import contextmanager

from openpts.record.health import Occasion
from openpts.runner.live import LiveDriver


@contextmanager
def surroundings_kept(driver: LiveDriver) -> Iterator[None]:
    """Keep in the record what the surroundings of the test are, before it and however it ends."""
    driver.health(Occasion.BEFORE)
    try:
        yield
    finally:
        driver.health(Occasion.AFTER)
