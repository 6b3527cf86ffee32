"""What an operator wants of telemetry, and the sampler that comes of it."""

from dataclasses import dataclass

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand
from openpts.gauge import Gauge
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.power_command import PowerCommand
from openpts.runner.telemetry import PERIOD_S, Sampler


@dataclass(frozen=True, slots=True)
class TelemetryChoice:
    """``period_s`` None: nothing is sampled. ``power_command``: see PowerCommand."""

    period_s: float | None = PERIOD_S
    power_command: str | None = None


def sampler_of(
    choice: TelemetryChoice, device: DeviceUnderTest, engine: CapturingEngine, demand: Demand
) -> Sampler:
    """The sampler of a run on this device. Raises UsageError if the power command makes no sense."""
    power = None if choice.power_command is None else PowerCommand(choice.power_command)
    if choice.period_s is None:
        return Sampler((Gauge("telemetry", None, "switched off by the operator"),), power=power)
    return Sampler(device.gauges(engine, demand), choice.period_s, power)
