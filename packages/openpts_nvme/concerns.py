"""What an NVMe drive says of itself around a run. Its logs are loaded where there is such a drive."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.gauge import Gauge
from openpts.hooks import Concern, Healer, RunContext
from openpts.journal import Journal


class DrivePower(Concern):
    """The drive's own report of its power."""

    def gauges(self, run: RunContext) -> Iterable[Gauge]:
        """One where it reports any."""
        if (target := run.device.target) is None or target.device is None:
            return ()
        from openpts_nvme.power.drive_report import power_gauge  # noqa: PLC0415 see above

        gauge = power_gauge(target)
        return () if gauge is None else (gauge,)


class LatencyMonitor(Concern):
    """The latency monitor of OCP drives: set if slow I/Os are to be noted, and read whenever the log is."""

    @contextmanager
    def around_steps(self, run: RunContext) -> Iterator[bool]:
        """Set it, and leave it as it was found."""
        drive = _nvme_drive(run)
        if drive is None or run.settings.slow_io_ms is None:
            yield False
            return
        from openpts_nvme.outliers.drive_monitor import monitor_set  # noqa: PLC0415 see above

        with monitor_set(drive[0], drive[1], Journal.of_machine()) as is_set:
            yield is_set

    def log_values(self, run: RunContext) -> Mapping[str, float]:
        """Counts and thresholds of the monitor."""
        if (drive := _nvme_drive(run)) is None:
            return {}
        from openpts_nvme.outliers.drive_monitor import monitor_values  # noqa: PLC0415 see above

        return monitor_values(drive[0])

    def healer_of(self, kind: str) -> Healer | None:
        """Of the monitor's setting."""
        from openpts_nvme.outliers.drive_monitor import LATENCY_MONITOR, put_back_monitor  # noqa: PLC0415 see above

        return Healer(put_back_monitor) if kind == LATENCY_MONITOR else None


class PowerStates(Concern):
    """The test of power states sets them."""

    def healer_of(self, kind: str) -> Healer | None:
        """Of power states that were left otherwise than found."""
        from openpts_drives.nvme import POWER_STATES, put_back_power_states  # noqa: PLC0415 see above

        return Healer(put_back_power_states) if kind == POWER_STATES else None


def _nvme_drive(run: RunContext) -> tuple[int, BlockDevice] | None:
    """The open drive with its device; None where it has no logs of NVMe."""
    target = run.device.target
    if target is None or target.device is None or target.device.whole.kind is not DeviceKind.NVME:
        return None
    return target.fd, target.device
