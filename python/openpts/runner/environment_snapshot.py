"""What is looked at around a test, off its path: the device's log and temperature, the host's settings."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openpts.record.health import Occasion
from openpts.record.writer import RunWriter
from openpts.runner.live import LiveDriver
from openpts.vocabulary.facts import Facts


@contextmanager
def surroundings_kept(driver: LiveDriver, writer: RunWriter, host: Callable[[], Facts]) -> Iterator[None]:
    """Keep in the record what surrounds the test: before it, beside it, and after it, however it ends."""
    writer.update_manifest(host_before=host(), telemetry=driver.sampler.facts)
    driver.health(Occasion.BEFORE)
    try:
        with driver.sampler.running():
            yield
    finally:
        driver.keep_telemetry()
        driver.health(Occasion.AFTER)
        writer.update_manifest(host_after=host(), telemetry=driver.sampler.facts)
