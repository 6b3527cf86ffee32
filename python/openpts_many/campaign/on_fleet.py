"""A campaign's runs on other hosts: submitted one after the other to each slot, and watched to their end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.errors import FleetError
from openpts.ownership import new_run_id
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, OnInterruption, refuse_at
from openpts_many.campaign.journal import CampaignState, note_replaced, note_seen
from openpts_many.fleet.port import Backend, HostState, Observation, RunStage
from openpts_many.fleet.remote import on_all

ENDED: Final = frozenset({RunStage.COMPLETE, RunStage.FAILED, RunStage.CANCELLED})
"""Stages that nothing follows."""
_LEFT: Final = frozenset({*ENDED, RunStage.INTERRUPTED})
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


Told = Callable[[RunRequest, Observation], object]


@dataclass(slots=True)
class OnFleet:
    """Carries out what is left of a campaign. ``told`` hears of each change of a stage, also of silent hosts.

    A run that is interrupted meanwhile is left as it is: to go on with it is another act of the operator's.
    """

    folder: Path
    state: CampaignState
    backend: Backend
    told: Told
    pause: Callable[[float], object]
    _open: dict[str, RunRequest] = field(default_factory=dict)
    _last: dict[str, Observation] = field(default_factory=dict)

    def run(self) -> dict[str, Observation]:
        """The last observation of each run, when none is left to wait for. Raises RecordError.

        ``pause`` is called between two looks at the hosts, for more seconds the longer nothing happens.
        """
        self._last = dict(self.state.seen)
        waiting = [self._again(request) for request in self.state.requests]
        waiting = [request for request in waiting if not self._is_certainly(request, ENDED)]
        # what was under way when the campaign was cut off may still have its slot
        waiting.sort(key=lambda request: self._stage(request) in {None, RunStage.INTERRUPTED})
        interrupted = {one.run_id for one in waiting if self._stage(one) is RunStage.INTERRUPTED}
        wait_s = _SOON_S
        while waiting or self._open:
            before = dict(self._last)
            taken = self._submit(self._ready(waiting), interrupted)
            rest = [request for request in waiting if request.run_id not in taken]
            waiting = [*self._look(), *rest]
            wait_s = _SOON_S if self._last != before else min(2 * wait_s, _LONGEST_S)
            if waiting or self._open:
                self.pause(wait_s)
        return self._last

    def _again(self, request: RunRequest) -> RunRequest:
        """The run itself, or a new one in its place: it was refused, or cut off and is not to be resumed."""
        seen = self._last.get(request.run_id)
        if seen is None:
            return request
        was_refused = seen.stage is RunStage.FAILED and seen.is_certain and seen.folder is None
        repeat = self.state.campaign.interrupted is OnInterruption.REPEAT
        if not was_refused and not (repeat and seen.stage is RunStage.INTERRUPTED):
            return request
        again = replace(request, run_id=new_run_id())
        note_replaced(self.folder, request.run_id, again)
        return again

    def _stage(self, request: RunRequest) -> RunStage | None:
        seen = self._last.get(request.run_id)
        return None if seen is None else seen.stage

    def _is_certainly(self, request: RunRequest, stages: Collection[RunStage]) -> bool:
        return self._stage(request) in stages and self._last[request.run_id].is_certain

    def _ready(self, waiting: Sequence[RunRequest]) -> Sequence[RunRequest]:
        """The next run for each place where none is under way, as far as its host has said."""
        busy = {_place(request) for request in self._open.values()}
        first: dict[tuple[str | None, str | None], RunRequest] = {}
        for request in waiting:
            first.setdefault(_place(request), request)
        return [request for place, request in first.items() if place not in busy]

    def _submit(self, requests: Sequence[RunRequest], interrupted: Collection[str]) -> set[str]:
        """The IDs of those that the fleet has now; a host that does not answer is asked again later."""
        for request in requests:
            if self._stage(request) in {None, RunStage.INTERRUPTED}:
                self._note(request, _unknown(request, _SUBMITTED), is_told=False)

        def submitted(request: RunRequest) -> Observation:
            again = request.run_id in interrupted
            # the file is the consent as long as it stands
            words = request.consents if again else ()
            return self.backend.submit(request, again=again, resume_words=words)

        answers = on_all(requests, submitted)
        taken = set()
        for request, found in zip(requests, answers, strict=True):
            if isinstance(found, FleetError):
                self._note(request, _unknown(request, str(found)))
            else:
                taken.add(request.run_id)
                self._open[request.run_id] = request
                self._seen(request, found)
        return taken

    def _look(self) -> list[RunRequest]:
        """Requests that no host has begun and no engine knows any more: to be submitted again."""
        requests = list(self._open.values())
        hosts = {request.host for request in requests if request.host is not None}
        try:
            known = {run.run_id: run for run in self.backend.list(hosts)} if hosts else {}
        except FleetError as error:
            known = {request.run_id: _unknown(request, str(error)) for request in requests}
        for request in requests:
            self._seen(request, known.get(request.run_id) or self._missed(request, known))
        lost = [request for request in self._open.values() if self._is_certainly(request, {RunStage.UNKNOWN})]
        for request in lost:
            del self._open[request.run_id]
        return lost

    def _missed(self, request: RunRequest, known: Mapping[str, Observation]) -> Observation:
        if any(run.stage is RunStage.RUNNING and run.host == request.host for run in known.values()):
            return _unknown(request, f"{request.host} measures, and is asked when that has ended")
        try:
            return self.backend.observe(request.run_id)
        except FleetError as error:
            return _unknown(request, str(error))

    def _seen(self, request: RunRequest, found: Observation) -> None:
        self._note(request, found)
        if found.stage in _LEFT and found.is_certain:
            del self._open[request.run_id]

    def _note(self, request: RunRequest, found: Observation, *, is_told: bool = True) -> None:
        """On the disk and to the listener, if it says something new."""
        before = self._last.get(request.run_id)
        if before is not None and _said(before) == _said(found):
            return
        self._last[request.run_id] = found
        note_seen(self.folder, found)
        if is_told:
            self.told(request, found)


def _unknown(request: RunRequest, reason: str) -> Observation:
    return Observation(request.run_id, RunStage.UNKNOWN, request.host, reason, is_certain=False)


def _said(seen: Observation) -> tuple[RunStage, str, bool]:
    return seen.stage, seen.reason, seen.is_certain


def _place(request: RunRequest) -> tuple[str | None, str | None]:
    """Where no two runs are at once."""
    return request.host, request.slot or request.target
