"""A campaign's runs on other hosts: submitted one after the other to each slot, and watched to their end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.batch.executor import Executor
from openpts.errors import FleetError
from openpts.ownership import new_run_id
from openpts.record.batch import Batch, BatchEntry
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.begun import as_seen
from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, refuse_at
from openpts_many.fleet.port import Backend, HostState, Observation
from openpts_many.fleet.remote import on_all

ENDED: Final = frozenset({RunState.COMPLETE, RunState.FAILED, RunState.CANCELLED})
"""States that nothing follows."""
_LEFT: Final = frozenset({*ENDED, RunState.INTERRUPTED})
_SUBMITTED: Final = "is being submitted"
_SOON_S: Final = 1.0
_LONGEST_S: Final = 60.0


def in_their_slots(campaign: Campaign, file: Path, hosts: Callable[[], Sequence[HostState]]) -> Campaign:
    """With the slots that drives are in now which the file names by host and serial number alone.

    Raises UsageError with the places of those that are in none, or can't be seen.
    """
    if not any(drive.is_by_serial_alone for drive in campaign.drives):
        return campaign
    states = {host.name: host for host in hosts()}
    drives, wrong = list(campaign.drives), []
    for number, drive in enumerate(campaign.drives):
        if drive.is_by_serial_alone:
            state = states.get(drive.host or "")
            slots = [name for name, serial in state.slots.items() if serial == drive.serial] if state else []
            if len(slots) == 1:
                drives[number] = replace(drive, slot=slots[0])
            else:
                wrong.append((("drives", number), _why_in_no_slot(drive, state, slots)))
    refuse_at(file, wrong)
    return replace(campaign, drives=tuple(drives))


def _why_in_no_slot(drive: CampaignDrive, state: HostState | None, slots: Sequence[str]) -> str:
    if state is None:
        return f"the fleet file has no host {drive.host}"
    if slots:
        return (
            f"{drive.serial} is in {' and '.join(slots)} of {state.name}: write slot = '...' for one of them"
        )
    if not state.slots:
        return f"where {drive.serial} is can't be seen, {state.name} {state.reason}: write slot = '...'"
    return (
        f"{drive.serial} is in no slot of {state.name}: put it in, or write slot = '...' for where it will "
        f"be, one of {', '.join(state.slots)}"
    )


@dataclass(kw_only=True)
class OnFleet(Executor):
    """Carries out what is left of a campaign.

    A run that is interrupted meanwhile is left as it is: to go on with it is another act of the operator's.
    ``pause`` is called between two looks at the hosts, for more seconds the longer nothing happens.
    ``resume_words`` are options for runs that go on, beside the consents of their requests.
    """

    backend: Backend
    pause: Callable[[float], object]
    resume_words: tuple[str, ...] = ()
    _open: dict[int, RunRequest] = field(default_factory=dict)

    def _carry_out(self) -> None:
        self.batch = replace(self.batch, entries=tuple(_again(one, self.batch) for one in self.batch.entries))
        waiting = [index for index in range(len(self.batch.entries)) if not self._is_certainly(index, ENDED)]
        # what was under way when the campaign was cut off may still have its slot
        waiting.sort(key=self._is_to_begin)
        interrupted = {index for index in waiting if self._entry(index).state is RunState.INTERRUPTED}
        wait_s = _SOON_S
        while waiting or self._open:
            before = self.batch.entries
            taken = self._submit(self._ready(waiting), interrupted)
            waiting = [*self._look(), *(index for index in waiting if index not in taken)]
            wait_s = _SOON_S if self.batch.entries != before else min(2 * wait_s, _LONGEST_S)
            if waiting or self._open:
                self.pause(wait_s)

    def _entry(self, index: int) -> BatchEntry:
        return self.batch.entries[index]

    def _is_to_begin(self, index: int) -> bool:
        return self._entry(index).state in {RunState.WAITING, RunState.INTERRUPTED}

    def _is_certainly(self, index: int, states: Collection[RunState]) -> bool:
        return self._entry(index).state in states and self._entry(index).is_certain

    def _ready(self, waiting: Sequence[int]) -> Sequence[int]:
        """The next run for each place where none is under way, as far as its host has said."""
        busy = {_place(request) for request in self._open.values()}
        first: dict[tuple[str | None, str | None], int] = {}
        for index in waiting:
            first.setdefault(_place(self._entry(index).request), index)
        return [index for place, index in first.items() if place not in busy]

    def _submit(self, ready: Sequence[int], interrupted: Collection[int]) -> set[int]:
        """Entries that the fleet has now; a host that does not answer is asked again later.

        Raises RecordError if batch.json can't say before that they are submitted.
        """
        if begun := [index for index in ready if self._is_to_begin(index)]:
            for index in begun:
                self._change(index, state=RunState.UNKNOWN, reason=_SUBMITTED, is_certain=False)
            self.publish()

        def submitted(index: int) -> Observation:
            request, again = self._entry(index).request, index in interrupted
            # the file is the consent as long as it stands
            words = (*request.consents, *self.resume_words) if again else ()
            return self.backend.submit(request, again=again, resume_words=words)

        taken = set()
        for index, found in zip(ready, on_all(ready, submitted), strict=True):
            if isinstance(found, FleetError):
                self._note(index, _unknown(self._entry(index).request, str(found)))
            else:
                taken.add(index)
                self._open[index] = self._entry(index).request
                self._seen(index, found)
        return taken

    def _look(self) -> list[int]:
        """Entries that no host has begun and no engine knows any more: to be submitted again."""
        requests = dict(self._open)
        hosts = {request.host for request in requests.values() if request.host is not None}
        try:
            known = {run.run_id: run for run in self.backend.list(hosts)} if hosts else {}
        except FleetError as error:
            known = {request.run_id: _unknown(request, str(error)) for request in requests.values()}
        for index, request in requests.items():
            self._seen(index, known.get(request.run_id) or self._missed(request, known))
        lost = [index for index in self._open if self._is_certainly(index, {RunState.UNKNOWN})]
        for index in lost:
            del self._open[index]
        return lost

    def _missed(self, request: RunRequest, known: Mapping[str, Observation]) -> Observation:
        if any(run.stage is RunState.RUNNING and run.host == request.host for run in known.values()):
            return _unknown(request, f"{request.host} measures, and is asked when that has ended")
        try:
            return self.backend.observe(request.run_id)
        except FleetError as error:
            return _unknown(request, str(error))

    def _seen(self, index: int, found: Observation) -> None:
        self._note(index, found)
        if found.stage in _LEFT and found.is_certain:
            del self._open[index]

    def _note(self, index: int, found: Observation) -> None:
        """Take in what a host says, if it is something new."""
        now = as_seen(self._entry(index), found)
        if now != self._entry(index):
            self._set(index, state=now.state, reason=now.reason, is_certain=now.is_certain)


def _again(entry: BatchEntry, batch: Batch) -> BatchEntry:
    """The run itself, or a new one in its place: it was refused, or cut off and is not to be resumed."""
    if entry.state is not RunState.REFUSED and not (batch.repeats and entry.state is RunState.INTERRUPTED):
        return entry
    again = replace(entry.request, run_id=new_run_id())
    return BatchEntry(request=again, folder=again.run_id)


def _unknown(request: RunRequest, reason: str) -> Observation:
    return Observation(request.run_id, RunState.UNKNOWN, request.host, reason, is_certain=False)


def _place(request: RunRequest) -> tuple[str | None, str | None]:
    """Where no two runs are at once."""
    return request.host, request.slot or request.target
