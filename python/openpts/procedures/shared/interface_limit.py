"""The rate that a drive's interface can carry, from the facts of the record."""

import re
from dataclasses import dataclass
from typing import Final

from openpts.pages.texts import fact_text
from openpts.record.manifest import Manifest
from openpts.units import MB
from openpts.vocabulary.link_rates import PCIE_LANE_BYTES_PER_S, serial_bytes_per_s

_PCIE: Final = re.compile(r"Gen (\d) x(\d+)")
_SERIAL: Final = re.compile(r"^(?:SATA|SAS|SATA behind SAS), (\d+(?:\.\d+)?) Gb")
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
            rate = serial_bytes_per_s(gbit_per_s) / MB
            return InterfaceLimit(serial[0].removesuffix(" Gb") + " Gbit/s", rate)
        return None
    if "PCIe" not in interface:
        return None
    # "Gen 4 x4 of Gen 5 x4, behind the bridge ... at Gen 3 x4": what the drive could do is no link in use
    in_use = re.sub(r" of Gen \d x\d+", "", fact_text(manifest.dut, "pcie", ""))
    links = [(int(generation), int(lanes)) for generation, lanes in _PCIE.findall(in_use)]
    known = [
        InterfaceLimit(f"PCIe Gen {generation} x{lanes}", lanes * PCIE_LANE_BYTES_PER_S[generation] / MB)
        for generation, lanes in links
        if generation in PCIE_LANE_BYTES_PER_S
    ]
    return min(known, key=lambda limit: limit.mb_per_s, default=None)
