"""What a check finds: its figures, and everything that is not as it has to be."""

from enum import StrEnum

from msgspec import Struct


class SelfTestVerdict(StrEnum):
    """NOT_POSSIBLE: this machine or this build lacks what the check needs."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_POSSIBLE = "not possible"


class SelfTestFinding(Struct, frozen=True, kw_only=True):
    """One check. ``text`` says what was held against what, or why that is not possible.

    ``figures`` are numbers by their names, with the unit in the name; ``faults`` are sentences.
    """

    check: str
    verdict: SelfTestVerdict
    text: str
    figures: dict[str, float] = {}
    faults: tuple[str, ...] = ()


class Expectations:
    """Collects what is not as it has to be."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def equal(self, what: str, found: object, expected: object) -> None:
        """Found and wanted are the same."""
        self.holds(f"{what}: {found!r}, and not {expected!r}", found == expected)

    def near(self, what: str, found: float | None, expected: float, within: float) -> None:
        """Found lies within so much of wanted, in the same unit."""
        near = found is not None and abs(found - expected) <= within
        self.holds(f"{what}: {found if found is None else f'{found:.9g}'}, and not {expected:.9g}", near)

    def holds(self, what: str, holds: bool) -> None:
        """``what`` is a fault unless the condition holds."""
        if not holds:
            self.faults.append(what)

    def finding(self, check: str, text: str, figures: dict[str, float] | None = None) -> SelfTestFinding:
        """The verdict."""
        verdict = SelfTestVerdict.FAILED if self.faults else SelfTestVerdict.PASSED
        faults = tuple(self.faults)
        return SelfTestFinding(check=check, verdict=verdict, text=text, figures=figures or {}, faults=faults)
