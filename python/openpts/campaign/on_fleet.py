"""A campaign's runs on other hosts: submitted one after the other to each slot, and watched to their end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.campaign.campaign_file import OnInterruption
from openpts.campaign.journal import CampaignState, note_replaced, note_seen
from openpts.errors import FleetError
from openpts.fleet.port import Backend, Observation, RunStage
from openpts.ownership import new_run_id
from openpts.vocabulary.run_request import RunRequest

ENDED: Final = frozenset({RunStage.COMPLETE, RunStage.FAILED, RunStage.CANCELLED})
"""Stages that nothing follows."""
_LEFT: Final = frozenset({*ENDED, RunStage.INTERRUPTED})
_SUBMITTED: Final = "is being submitted"

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
    pause: Callable[[], object]
    _open: dict[str, RunRequest] = field(default_factory=dict)
    _last: dict[str, Observation] = field(default_factory=dict)

    def run(self) -> dict[str, Observation]:
        """The last observation of each run, when none is left to wait for. Raises RecordError.

        ``pause`` is called between two looks at the hosts.
        """
        self._last = dict(self.state.seen)
        waiting = [self._again(request) for request in self.state.requests]
        waiting = [request for request in waiting if self._stage(request) not in ENDED]
        # what was under way when the campaign was cut off may still have its slot
        waiting.sort(key=lambda request: self._stage(request) in {None, RunStage.INTERRUPTED})
        interrupted = {one.run_id for one in waiting if self._stage(one) is RunStage.INTERRUPTED}
        while waiting or self._open:
            busy = {_place(request) for request in self._open.values()}
            for request in list(waiting):
                if _place(request) not in busy:
                    busy.add(_place(request))
                    if self._submit(request, again=request.run_id in interrupted):
                        waiting.remove(request)
            for request in list(self._open.values()):
                self._look(request)
            if waiting or self._open:
                self.pause()
        return self._last

    def _again(self, request: RunRequest) -> RunRequest:
        """The run itself, or a new one in the place of one that was interrupted and is not to be resumed."""
        repeat = self.state.campaign.interrupted is OnInterruption.REPEAT
        if not repeat or self._stage(request) is not RunStage.INTERRUPTED:
            return request
        again = replace(request, run_id=new_run_id())
        note_replaced(self.folder, request.run_id, again)
        return again

    def _stage(self, request: RunRequest) -> RunStage | None:
        seen = self._last.get(request.run_id)
        return None if seen is None else seen.stage

    def _submit(self, request: RunRequest, *, again: bool) -> bool:
        """Whether the fleet has the run now; a host that does not answer is asked again later."""
        if self._stage(request) in {None, RunStage.INTERRUPTED}:
            self._note(request, _unknown(request, _SUBMITTED), is_told=False)
        try:
            found = self.backend.submit(request, again=again)
        except FleetError as error:
            self._note(request, _unknown(request, str(error)))
            return False
        self._note(request, found)
        if found.stage not in _LEFT:
            self._open[request.run_id] = request
        return True

    def _look(self, request: RunRequest) -> None:
        try:
            found = self.backend.observe(request.run_id)
        except FleetError as error:
            found = _unknown(request, str(error))
        self._note(request, found)
        if found.stage in _LEFT:
            del self._open[request.run_id]

    def _note(self, request: RunRequest, found: Observation, *, is_told: bool = True) -> None:
        """On the disk and to the listener, if it says something new."""
        before = self._last.get(request.run_id)
        if before is not None and (before.stage, before.reason) == (found.stage, found.reason):
            return
        self._last[request.run_id] = found
        note_seen(self.folder, found)
        if is_told:
            self.told(request, found)


def _unknown(request: RunRequest, reason: str) -> Observation:
    return Observation(request.run_id, RunStage.UNKNOWN, request.host, reason)


def _place(request: RunRequest) -> tuple[str | None, str | None]:
    """Where no two runs are at once."""
    return request.host, request.slot or request.target
