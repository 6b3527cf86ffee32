"""The drive's own report of its power: interval power of log 02h, mean, maximum and error of log 25h."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from openpts.device.block_device import DeviceKind
from openpts.device.nvme_admin import NvmeCommandError, read_log
from openpts.device.targets.open_target import OpenTarget
from openpts.gauge import Gauge
from openpts.record.health import DRIVE_POWER
from openpts.units import NS_PER_S
from openpts_nvme.logs.page import LogError, LogReader, declared_logs, decode
from openpts_nvme.power.polled import Polled
from openpts_nvme.power.source import MeterError

_NAMES: Final = {
    "smart": {"interval_power_w": "power_w"},
    "power-measurement": {"average_power_w": "power_mean_w", "maximum_power_w": "power_max_w"},
}


def power_values(name: str, values: Mapping[str, Any]) -> dict[str, float]:
    """What a decoded page says of power, under the names of values in a record; only what is reported."""
    raw = {called: values.get(field) for field, called in _NAMES[name].items()}
    scales = [values.get(field.replace("_w", "_scale")) for field in _NAMES[name]]
    known = zip(raw.items(), scales, strict=True)
    return {
        called: float(watts)
        for (called, watts), scale in known
        if watts is not None and scale not in {None, 0, "not reported"}
    }


def reported(fd: int) -> tuple[dict[str, float], str]:
    """What the drive reports now, and how: its pages, and its error. Empty where it does not."""
    found: dict[str, float] = {}
    words = []
    reader = LogReader(fd)
    for name in _NAMES:
        log = declared_logs()[name]
        if name == "power-measurement" and not reader.controller.measures_power:
            continue  # asking for it would be an entry in the drive's error log
        if (page := reader.read(log).page) is None:
            continue
        if not (values := power_values(name, page.values)):
            continue
        found |= values
        text = f"log {log.id:02X}h"
        if name == "power-measurement":
            error = page.values.get("power_error_pct")
            kind = "estimated" if page.values.get("is_estimated") else "measured"
            text += f": {kind}, " + ("error not reported" if error is None else f"error of {error} %")
            text += f", {values.get('power_max_w', 0):g} W in an interval at most"
        words.append(text)
    return found, "; ".join(words)


def drive_source(fd: int) -> Polled:
    """The drive's own report as a source: the mean of each last second. Raises MeterError."""

    def watts() -> float:
        try:
            log = declared_logs()["smart"]
            values = power_values(
                "smart", decode(log, read_log(fd, log.id, log.length, retain_events=True)).values
            )
        except (NvmeCommandError, LogError) as error:
            raise MeterError(f"the drive does not give its log 02h: {error}") from error
        if "power_w" not in values:
            raise MeterError("the drive reports no power of its last interval (log 02h): use a meter")
        return values["power_w"]

    watts()
    return Polled(f"the drive's own report ({reported(fd)[1]})", NS_PER_S, watts)


def power_gauge(target: OpenTarget) -> Gauge | None:
    """The drive's own power as a gauge of a run; None of a drive that reports none."""
    if target.device is None or target.device.kind is not DeviceKind.NVME:
        return None
    try:
        found, words = reported(target.fd)
    except NvmeCommandError:
        return None
    if "power_w" not in found:
        return None
    log = declared_logs()["smart"]

    def ask() -> bytes:
        try:
            return read_log(target.fd, log.id, log.length, retain_events=True)
        except NvmeCommandError:
            return b""

    def understand(contents: Sequence[bytes], _at_ns: int) -> dict[str, float]:
        values = power_values("smart", decode(log, contents[0]).values)
        return {DRIVE_POWER: values["power_w"]} if "power_w" in values else {}

    return Gauge(
        "drive power",
        f"{DRIVE_POWER}: mean of the last second as the drive reports it ({words})",
        "log 02h, interval power",
        understand=understand,
        resolution=0.01,
        asks_drive=True,
        ask=ask,
    )
