"""What a fleet asks of whatever starts programs on its hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openpts.vocabulary.run_request import RunRequest


class RunStage(StrEnum):
    """Where a submitted run stands: the journal on the host's disk decides, what an engine says is a copy."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Observation:
    """A run as last seen. ``reason`` says why it is in this stage; ``job`` is the engine's own number."""

    run_id: str
    stage: RunStage
    host: str | None
    reason: str = ""
    job: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class HostState:
    """A host and its slots by name, each with the serial number of its drive, or None if it is empty."""

    name: str
    is_up: bool
    reason: str
    slots: dict[str, str | None]


class Backend(Protocol):
    """Slurm, or ssh with transient systemd units. Methods raise FleetError if the engine can't answer."""

    def submit(self, request: RunRequest) -> Observation:
        """Start a run at most once: one that the host has claimed already is observed, and not started."""

    def observe(self, run_id: str) -> Observation:
        """Where a run stands, from the host's journal if it can be read, else from the engine."""

    def cancel(self, run_id: str) -> Observation:
        """Stop a run and all processes that write for it; what was recorded stays."""

    def list(self) -> Sequence[Observation]:
        """All runs that the engine or a host's journal knows."""

    def hosts(self) -> Sequence[HostState]:
        """All hosts with their slots."""
