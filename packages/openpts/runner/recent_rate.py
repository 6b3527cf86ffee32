"""The rates of a step that runs, from the engine's counters."""

from msgspec import Struct

from openpts.runner.events import Ticked
from openpts.units import NS_PER_S
from openpts.vocabulary.phase import StepPlace

_OVER_NS = NS_PER_S


class RecentRate(Struct):
    """Rates over the last second of a step, or little more, on the engine's clock."""

    iops: float = 0.0
    bytes_per_s: float = 0.0
    _place: StepPlace | None = None
    _last: tuple[int, int, int] = (0, 0, 0)

    def take(self, tick: Ticked) -> bool:
        """Whether a second has passed since the rates were counted last, so that they are new."""
        progress = tick.progress
        now = (progress.step_elapsed_ns, progress.ios, progress.bytes)
        if tick.place != self._place:
            self._place, self._last = tick.place, now
        passed_ns, ios, transferred = (value - last for value, last in zip(now, self._last, strict=True))
        if passed_ns < _OVER_NS:
            return False
        self._last = now
        self.iops, self.bytes_per_s = ios * NS_PER_S / passed_ns, transferred * NS_PER_S / passed_ns
        return True
