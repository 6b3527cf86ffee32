"""A run on another host, and a host, as they were seen last."""

from typing import Final

import msgspec
from msgspec import Struct

from openpts.record.decoding import decode_json
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest


class Observation(Struct, frozen=True):
    """A run as last seen: its host's journal decides, what Slurm says is a copy.

    ``reason`` says why it is in this stage; ``job`` is Slurm's own number. ``folder`` is where its
    record is on the host, None before there is one; ``request`` what was asked for, None where neither host
    nor Slurm has it. ``is_certain`` unless a host that may know more was not asked, or did not answer: an
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
    """The request that Slurm keeps as the comment of a job; None if its comment is another."""
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
