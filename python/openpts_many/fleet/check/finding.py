"""What a check has found, with the reason and what to do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """ERROR: runs can't be started, get lost, or a drive gets two writers. WARNING: results may suffer."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """``where`` is a host or the cluster, ``subject`` the setting or the thing, ``found`` how it is now."""

    severity: Severity
    where: str
    subject: str
    found: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is wrong: the name of a host, or of the whole cluster."""

    where: str

    def error(self, subject: str, found: str, reason: str, remedy: str) -> Finding:
        """A finding of severity ERROR."""
        return Finding(Severity.ERROR, self.where, subject, found, reason, remedy)

    def warning(self, subject: str, found: str, reason: str, remedy: str) -> Finding:
        """A finding of severity WARNING."""
        return Finding(Severity.WARNING, self.where, subject, found, reason, remedy)


CLUSTER: Final = Place("cluster")
"""Of findings that are of no single host."""
