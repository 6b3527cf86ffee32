"""What the memory of a host moves, and what links carry."""

from typing import Final

from msgspec import Struct

from openpts.units import GB
from openpts.vocabulary.facts import Fact, Facts


class MemoryBandwidth(Struct, frozen=True):
    """Bytes read and bytes written per second, together; None where nothing tells.

    ``measured``: by copies on this host, else by the rates of its modules. ``source`` is how, or why not.
    """

    bytes_per_s: float | None
    measured: bool
    source: str

    @property
    def facts(self) -> Facts:
        """For the record's facts of the host."""
        return {"memory_bandwidth": Fact(self._value, self.source)}

    @property
    def _value(self) -> str | None:
        if self.bytes_per_s is None:
            return None
        return f"{self.bytes_per_s / GB:,.1f} GB/s{'' if self.measured else ' at most'}"

    def __str__(self) -> str:
        return f"{self._value or 'not known'} ({self.source})"


PCIE_LANE_BYTES_PER_S: Final = {
    1: 2_500e6 * 8 / 10 / 8,
    2: 5_000e6 * 8 / 10 / 8,
    3: 8_000e6 * 128 / 130 / 8,
    4: 16_000e6 * 128 / 130 / 8,
    5: 32_000e6 * 128 / 130 / 8,
    6: 64_000e6 * 242 / 256 / 8,
}
"""Of one lane in one direction, by generation: transfers per second x the share that the line code leaves."""

PCIE_PAYLOAD_SHARE: Final = 256 / (256 + 24) * 0.97
"""Packets of 256 B with 24 B of header, framing and checksum (Xilinx WP350), 3 % for acknowledgements and
credits. Packets of 128 B, as small machines have them, leave 8 % less."""

SERIAL_PAYLOAD_SHARE: Final = 0.93
"""SATA and SAS: frames of 8 and 1 KiB with their headers, primitives, and the time to open a connection."""

_MOST_8B10B_GBIT_PER_S: Final = 12


def serial_bytes_per_s(gbit_per_s: float) -> float:
    """SATA and SAS after the line code: ten bits for eight up to 12 Gbit/s, 150 for 128 above (SAS-4)."""
    share = 8 / 10 if gbit_per_s <= _MOST_8B10B_GBIT_PER_S else 128 / 150
    return gbit_per_s * 1e9 * share / 8
