"""What the memory of a host moves."""

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
