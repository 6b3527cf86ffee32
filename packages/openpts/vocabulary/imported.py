"""Results of another program that a run was made of: nothing in it was measured by openpts."""

from typing import Final

from msgspec import Struct

from openpts.vocabulary.deviation import Deviation

IMPORTED: Final = "PTS-GEN-01"


class Imported(Struct, frozen=True):
    """Where a run comes from. ``tool`` is the program with its version, ``form`` that of its output.

    ``file`` is the source as it was named; a copy is among the inputs of the run as ``kept_as``, with
    ``sha256``. ``stated`` are lines of what the source states and a record has no place for: what, and the
    figure with its unit. ``missing`` is what it does not state, in words.
    """

    tool: str
    form: str
    file: str
    kept_as: str
    sha256: str
    stated: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def entry(self) -> Deviation:
        """The ledger's entry for all of it."""
        return Deviation(
            IMPORTED,
            "1.1",
            "measured by the test as specified",
            f"imported from {self.tool}: not measured by openpts",
            "preparation, stimulus and timing are the other program's, and were not checked",
        )
