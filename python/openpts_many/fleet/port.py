"""What a fleet asks of whatever starts programs on its hosts."""

from collections.abc import Collection, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from openpts.record.decoding import decode_json
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest


class Observation(Struct, frozen=True):
    """A run as last seen: its host's journal decides, what an engine says is a copy.

    ``reason`` says why it is in this stage; ``job`` is the engine's own number. ``folder`` is where its
    record is on the host, None before there is one; ``request`` what was asked for, None where neither host
    nor engine has it. ``is_certain`` unless a host that may know more was not asked, or did not answer: an
    end is final then, and a run that is unknown was begun nowhere.
    """

    run_id: str
    stage: RunState
    host: str | None
    reason: str = ""
    job: str | None = None
    folder: str | None = None
    request: RunRequest | None = None
    is_certain: bool = True


def request_noted(text: str) -> RunRequest | None:
    """The request that an engine keeps as a note with the run; None if its note is another."""
    try:
        return decode_json(text, RunRequest)
    except msgspec.DecodeError:
        return None


class HostState(Struct, frozen=True):
    """A host and its slots by name, each with the serial number of its drive, or None if it is empty.

    A serial number is empty where the drive reports none. There are no slots where the host was not asked:
    it can't be reached, or a run is measured there; ``reason`` says which.
    """

    name: str
    is_up: bool
    reason: str
    slots: dict[str, str | None]


NOT_BEGUN: Final = "no host has begun it: it can be submitted once more under its ID"


class Backend(Protocol):
    """Slurm, or ssh with transient systemd units. Methods raise FleetError if the engine can't answer."""

    def submit(
        self, request: RunRequest, *, again: bool = False, resume_words: Sequence[str] = ()
    ) -> Observation:
        """Start a run at most once: one that the host has claimed already is observed, and not started.

        ``again`` goes on with one that was interrupted, as a new attempt; no engine does that by itself.
        ``resume_words`` are the options of `openpts resume` that it then gets beside the serial number: each
        attempt has consents of its own.
        """

    def observe(self, run_id: str, *, ask_host: bool = False) -> Observation:
        """Where a run stands, from the host's journal if it can be read, else from the engine.

        A host that measures is left alone, and the engine's word taken; ``ask_host`` asks it all the same.
        """

    def cancel(self, run_id: str) -> Observation:
        """Stop a run and all processes that write for it; what was recorded stays."""

    def list(self, hosts: Collection[str] = ()) -> Sequence[Observation]:
        """All runs that the engine or a host's journal knows; with ``hosts``, of these hosts."""

    def hosts(self) -> Sequence[HostState]:
        """All hosts with their slots."""
