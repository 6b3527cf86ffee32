"""A clock for waits of hours that take no time."""

from dataclasses import dataclass, field

from openpts_drives.purge.purge_programs import Clock


@dataclass
class Hours:
    """A clock on which every sleep passes at once."""

    passed_s: float = 0.0
    naps: list[float] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        def sleep(seconds: float) -> None:
            self.passed_s += seconds
            self.naps.append(seconds)

        return Clock(lambda: self.passed_s, sleep)
