"""What an operator says of a drive, beside what it tells itself."""

from dataclasses import dataclass

from openpts.errors import UsageError
from openpts.vocabulary.facts import Fact, Facts


@dataclass(frozen=True, slots=True)
class DescribedDrive:
    """A description that was read: its facts, with the line of each as the source."""

    path: str = ""
    serial: str | None = None
    facts: tuple[tuple[str, Fact], ...] = ()

    def added_to(self, told: Facts) -> Facts:
        """The facts of a drive with the description's: where both say something, both are shown.

        Raises UsageError if the description is of another drive.
        """
        own_serial = told["serial"].value if "serial" in told else None
        if self.serial is not None and self.serial != own_serial:
            raise UsageError(
                f"{self.path} describes the drive of serial number {self.serial}, "
                f"and this one has {own_serial or 'none'}"
            )
        return told | {key: _beside(told.get(key), fact) for key, fact in self.facts}


def _beside(told: Fact | None, described: Fact) -> Fact:
    if told is None or told.value is None:
        return described
    if told.value == described.value:
        return told
    return Fact(f"{told.value} (described as {described.value})", f"{told.source}; {described.source}")
