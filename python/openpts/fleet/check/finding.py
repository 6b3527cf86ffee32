"""What a check has found, with the reason and what to do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """ERROR: runs can't be started, get lost, or a drive gets two writers. WARNING: results may suffer."""

    ERROR = "error"
    WARNING = "warning"


CLUSTER: Final = "cluster"
"""Where a finding is that is of no single host."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``where`` is a host or CLUSTER, ``subject`` the setting or the thing, ``found`` how it is now."""

    severity: Severity
    where: str
    subject: str
    found: str
    reason: str
    remedy: str


def error(where: str, subject: str, found: str, reason: str, remedy: str) -> Finding:
    """A finding of severity ERROR."""
    return Finding(Severity.ERROR, where, subject, found, reason, remedy)


def warning(where: str, subject: str, found: str, reason: str, remedy: str) -> Finding:
    """A finding of severity WARNING."""
    return Finding(Severity.WARNING, where, subject, found, reason, remedy)
