"""The acts of the test, in their order: what each of them takes, and whether it changes the drive."""

from typing import Final

from msgspec import Struct

from openpts.vocabulary.requests import DriverRequest


class Act(Struct, frozen=True):
    """``writes``: contents are lost, or settings are changed.

    ``seconds`` and ``seconds_per_tb`` are what a drive takes that keeps the specification's limits.
    """

    name: str
    writes: bool = True
    seconds: float = 1.0
    seconds_per_tb: float = 0.0


ACTS: Final = (
    Act("questions", writes=False),
    Act("reads beside logs", writes=False, seconds=60),
    Act("power", writes=False, seconds=5),
    Act("settings", seconds=10),
    Act("reset", seconds=20),
    Act("shutdowns", seconds=60),
    Act("self-test", seconds=120),
    Act("deallocation", seconds=90),
    Act("deallocated space", seconds=30, seconds_per_tb=6500),
    Act("formats", seconds=30, seconds_per_tb=10),
    Act("sanitize", seconds=30, seconds_per_tb=20),
)
"""Those that lose data come last."""

ASK, ASK_AGAIN = "ask", "ask again"


FIRMWARE: Final = Act("firmware", seconds=180)
"""Only with an image that the operator gives."""


class Look(DriverRequest, frozen=True):
    """Ask the drive, ask it again, or carry out the act of this name, with the ``image`` of that path."""

    what: str
    image: str = ""

    @property
    def text(self) -> str:
        """See the base class."""
        return self.what
