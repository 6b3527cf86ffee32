"""Sources that are asked again and again, such as sensors of hwmon."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from openpts.system_files import read_integer, read_text
from openpts.units import NS_PER_MS, NS_PER_S
from openpts_nvme.power.source import MeterError

_MICRO: Final = 1_000_000
_MILLI: Final = 1_000
_POWERS: Final = ("power1_average", "power1_input")
_SENSOR_PERIOD_NS: Final = 100 * NS_PER_MS


class Polled:
    """Watts that ``read`` gives, asked every ``period_ns``; each counts for the time until the next."""

    def __init__(self, what: str, period_ns: float, read: Callable[[], float]) -> None:
        self.what, self.period_ns, self._read = what, period_ns, read

    def pieces(self) -> Iterator[list[float]]:
        """See PowerSource: one sample each."""
        due = time.monotonic()
        while True:
            yield [self._read()]
            due = max(due + self.period_ns / NS_PER_S, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def sensor(folder: Path) -> Polled:
    """A folder of hwmon: its power, else the growth of its energy, else voltage times current.

    Raises MeterError where it has none of these.
    """
    name = read_text(folder / "name") or folder.name
    interval_ms = read_integer(folder / "update_interval")
    period_ns = max(_SENSOR_PERIOD_NS, (interval_ms or 0) * NS_PER_MS)
    accuracy = read_text(folder / "power1_accuracy")
    exact = f"accuracy {accuracy}" if accuracy else "accuracy not reported"
    found = next((path for path in map(folder.joinpath, _POWERS) if path.exists()), None)
    if found is not None:
        return Polled(f"{name}: {found.name}, {exact}", period_ns, lambda: _whole(found) / _MICRO)
    if (path := folder / "energy1_input").exists():
        return Polled(f"{name}: growth of {path.name}, {exact}", period_ns, _growth(path))
    volts, amperes = folder / "in1_input", folder / "curr1_input"
    if volts.exists() and amperes.exists():
        return Polled(
            f"{name}: in1 x curr1, {exact}", period_ns, lambda: _whole(volts) * _whole(amperes) / _MILLI**2
        )
    raise MeterError(
        f"{folder} has no power1_average, power1_input, energy1_input, or in1_input with curr1_input: name a "
        "sensor that meters power"
    )


def _whole(path: Path) -> int:
    value = read_integer(path)
    if value is None:
        raise MeterError(f"{path} can't be read any more")
    return value


def _growth(path: Path) -> Callable[[], float]:
    last = [(time.monotonic(), _whole(path))]

    def read() -> float:
        now = time.monotonic(), _whole(path)
        (before_s, before_uj), last[0] = last[0], now
        elapsed_s = now[0] - before_s
        return (now[1] - before_uj) / _MICRO / elapsed_s if elapsed_s > 0 and now[1] >= before_uj else 0.0

    return read
