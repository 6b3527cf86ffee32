"""A simulated drive around a run: what it says of itself comes with intervals and steps."""

from collections.abc import Iterable
from typing import Final

from openpts.gauge import Gauge
from openpts.hooks import Concern, RunContext
from openpts.vocabulary.facts import SIMULATED_SOURCE
from openpts.vocabulary.sample import DRIVE_ENERGY, DRIVE_HOST_WRITES, DRIVE_MEDIA_WRITES

_VALUES: Final = {
    "temperature": "temperature_c; with each interval",
    "energy": f"{DRIVE_ENERGY}; with each step",
    "media writes": f"{DRIVE_MEDIA_WRITES}; with each interval and step",
    "host writes": f"{DRIVE_HOST_WRITES}; with each step",
}


class SimulatedDrive(Concern):
    """No host works for it: nothing is read beside it."""

    def gauges(self, run: RunContext) -> Iterable[Gauge]:
        """What its intervals and steps have."""
        names = _VALUES.items() if run.is_simulated else ()
        return tuple(Gauge(name, what, SIMULATED_SOURCE) for name, what in names)
