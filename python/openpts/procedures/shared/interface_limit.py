"""The rate that a drive's interface can carry, from the facts of the record."""

import re
from dataclasses import dataclass
from typing import Final

from openpts.pages.texts import fact_text
from openpts.record.manifest import Manifest

_PCIE: Final = re.compile(r"Gen (\d) x(\d+)")
_SERIAL: Final = re.compile(r"^(?:SATA|SAS|SATA behind SAS), (\d+(?:\.\d+)?) Gb")
# Transfers per second and lane x the share that the line code leaves, in MB/s; packets take more.
_MB_PER_S_BY_GENERATION: Final = {
    1: 2_500 * 8 / 10 / 8,
    2: 5_000 * 8 / 10 / 8,
    3: 8_000 * 128 / 130 / 8,
    4: 16_000 * 128 / 130 / 8,
    5: 32_000 * 128 / 130 / 8,
    6: 64_000 * 242 / 256 / 8,
}
# SATA and SAS up to 12 Gbit/s send ten bits for eight.
_MOST_SERIAL_GBIT_PER_S: Final = 12


@dataclass(frozen=True, slots=True)
class InterfaceLimit:
    """``name`` of the link and what it carries at most, in MB/s of 10^6 bytes, before packet overhead."""

    name: str
    mb_per_s: float


def interface_limit(manifest: Manifest) -> InterfaceLimit | None:
    """The slowest link that the record names on the way to the drive; None where it names none."""
    interface = fact_text(manifest.dut, "interface", "")
    if serial := _SERIAL.match(interface):
        gbit_per_s = float(serial[1])
        if gbit_per_s <= _MOST_SERIAL_GBIT_PER_S:
            return InterfaceLimit(serial[0].removesuffix(" Gb") + " Gbit/s", gbit_per_s * 100)
        return None
    if "PCIe" not in interface:
        return None
    # "Gen 4 x4 of Gen 5 x4, behind the bridge ... at Gen 3 x4": what the drive could do is no link in use
    in_use = re.sub(r" of Gen \d x\d+", "", fact_text(manifest.dut, "pcie", ""))
    links = [(int(generation), int(lanes)) for generation, lanes in _PCIE.findall(in_use)]
    known = [
        InterfaceLimit(f"PCIe Gen {generation} x{lanes}", lanes * _MB_PER_S_BY_GENERATION[generation])
        for generation, lanes in links
        if generation in _MB_PER_S_BY_GENERATION
    ]
    return min(known, key=lambda limit: limit.mb_per_s, default=None)
