"""A fleet without a scheduler: a run is a transient unit of its host's systemd, started over ssh.

The unit does not hang on the connection, has all processes of the run in a control group of its own, and is
never started again by itself. systemd knows which units are active, the host's journal how runs ended.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from openpts.errors import FleetError, UsageError
from openpts.programs import Run, run_program
from openpts.record.manifest import RunState
from openpts.transient_unit import unit_words
from openpts.vocabulary.run_request import RunRequest
from openpts_many.fleet.configuration import Fleet, Host
from openpts_many.fleet.host_journal import HostJournal
from openpts_many.fleet.port import NOT_BEGUN, HostState, Observation, request_noted
from openpts_many.fleet.remote import Remote, on_all

_UNIT: Final = "openpts-"
_STOPPED_S: Final = 180.0
# the journal of a host that measures is left alone unless $1 says "ask": to read it takes a processor's time
_LOOK: Final = """
alive=active,activating,deactivating
units=$(systemctl list-units --plain --full --no-legend --state=$alive 'openpts-*.service') || exit 1
printf '%s\\n\\n' "$units"
if [ -z "$units" ] || [ "$1" = ask ]; then shift; exec "$@"; fi
"""
# until this start has claimed the run's drive, each with a line of its own, or was refused
_START: Final = """
mkdir -p "$1" || exit 1
unit=$2 claim=$3 tries=150
shift 3
claims() { if [ -e "$claim" ]; then wc -l <"$claim"; else echo 0; fi; }
before=$(claims)
# another submission of the run may have loaded the unit a moment ago: it is not active at once
"$@" || {
    until systemctl is-active --quiet "$unit"; do
        [ $tries -gt 0 ] && [ "$(systemctl show --property=LoadState --value "$unit")" = loaded ] || exit 1
        if systemctl is-failed --quiet "$unit"; then exit 1; fi
        tries=$((tries - 1))
        sleep 0.1
    done
    before=0
}
while [ $tries -gt 0 ] && [ "$(claims)" -le "$before" ] && systemctl is-active --quiet "$unit"; do
    tries=$((tries - 1))
    sleep 0.1
done
"""
# what openpts can't end, systemd does: all that is in the unit's control group
_STOP: Final = """
unit=$1
shift
"$@"
ended=$?
if systemctl is-active --quiet "$unit"; then systemctl stop "$unit" || exit 1; fi
exit $ended
"""


class _Look(Struct, frozen=True):
    """A host as it answered: runs by their active units, each with its unit's description, which is the
    request; and what the host's openpts said if it was asked.
    """

    host: Host
    active: dict[str, str]
    said: str | None

    def observations(self) -> dict[str, Observation]:
        """Of all runs in the answer, by their IDs."""
        running = {
            run_id: Observation(
                run_id=run_id,
                stage=RunState.RUNNING,
                host=self.host.name,
                reason="systemd: active",
                job=f"{_UNIT}{run_id}.service",
                request=request_noted(description),
                is_certain=False,
            )
            for run_id, description in self.active.items()
        }
        reported = () if self.said is None else self.host.decoded(self.said, tuple[Observation, ...])
        return running | {run.run_id: run for run in reported}


class SshBackend(Struct, frozen=True):
    """The fleet of a fleet file; ``run`` starts ssh."""

    fleet: Fleet
    run: Run = run_program

    def submit(
        self, request: RunRequest, *, again: bool = False, resume_words: Sequence[str] = ()
    ) -> Observation:
        """Start a run's unit, and look at the run once it has claimed its drive, or was refused.

        Raises FleetError, also if whether it was started is unknown, and UsageError without such a slot.
        """
        if request.host is None:
            raise UsageError(
                f"run {request.run_id} needs a host: without a scheduler there is none to choose it"
            )
        host, run_id = self.fleet.host(request.host), request.run_id
        if request.slot is not None:
            self.fleet.slot(host.name, request.slot)
        unit, journal = f"{_UNIT}{run_id}", HostJournal(host.name, host.runs)
        note = msgspec.json.encode(request).decode()
        words = [*_systemd_run(host, run_id, unit, note), *host.command("start"), *["--again"] * again]
        words += ["--job", f"{unit}.service", "--", note, *resume_words]
        places = [str(host.runs), f"{unit}.service", str(journal.claim_of(run_id))]
        self._ask(host, ["sh", "-c", _START, "sh", *places, *words])
        found = self._look(host, "journal", run_id, ask=True).observations().get(run_id)
        if found is None:
            raise FleetError(
                f"run {run_id} ended before openpts began it: see {host.runs}/{run_id}.log on {host.name}"
            )
        return found

    def observe(self, run_id: str, *, ask_host: bool = False) -> Observation:
        """Where a run stands; a host that measures is asked for its journal only if ``ask_host``."""
        looks, silent = self._looks("journal", run_id, ask=ask_host)
        for look in looks:
            if (found := look.observations().get(run_id)) is not None:
                return found
        unasked = [
            f"{look.host.name} measures, so its journal is not read" for look in looks if look.said is None
        ]
        unknown = "; ".join([*unasked, *silent.values()])
        return Observation(run_id, RunState.UNKNOWN, None, unknown or NOT_BEGUN, is_certain=not unknown)

    def cancel(self, run_id: str) -> Observation:
        """Stop a run on its host, and all of its unit's control group; nothing starts it later.

        Raises FleetError if its host is unknown and not all hosts answer, or if it can't be stopped.
        """
        found = self.observe(run_id, ask_host=True)
        if found.host is None:
            raise FleetError(f"run {run_id} can't be stopped: {found.reason}")
        host = self.fleet.host(found.host)
        words = ["sh", "-c", _STOP, "sh", f"{_UNIT}{run_id}.service", *host.command("stop"), run_id]
        self._ask(host, words, _STOPPED_S)
        return self._look(host, "journal", run_id, ask=True).observations().get(run_id, found)

    def list(self, hosts: Collection[str] = ()) -> Sequence[Observation]:
        """All runs with an active unit, and those in the journals of hosts that measure nothing now.

        Raises FleetError if no host answers; `hosts` says of each.
        """
        looks, silent = self._looks("journal", ask=False, hosts=hosts)
        if not looks:
            raise FleetError("; ".join(silent.values()))
        found = {run_id: run for look in looks for run_id, run in look.observations().items()}
        return [found[run_id] for run_id in sorted(found)]

    def hosts(self) -> Sequence[HostState]:
        """All hosts of the fleet file, with what is in their slots where nothing is measured."""
        looks, silent = self._looks("slots", ask=False)
        states = {look.host.name: _state(look) for look in looks}
        states |= {name: HostState(name, False, reason, {}) for name, reason in silent.items()}
        return [states[name] for name in self.fleet.hosts]

    def _looks(
        self, *words: str, ask: bool, hosts: Collection[str] = ()
    ) -> tuple[Sequence[_Look], Mapping[str, str]]:
        """What hosts answered, and why the others did not."""
        chosen = self.fleet.chosen(hosts)
        answers = on_all(chosen, lambda host: self._look(host, *words, ask=ask))
        named = zip([host.name for host in chosen], answers, strict=True)
        silent = {name: str(answer) for name, answer in named if isinstance(answer, FleetError)}
        return [answer for answer in answers if isinstance(answer, _Look)], silent

    def _look(self, host: Host, verb: str, *words: str, ask: bool) -> _Look:
        command = ["sh", "-c", _LOOK, "sh", "ask" if ask else "spare", *host.command(verb), *words]
        units, _, said = self._ask(host, command).partition("\n\n")
        # unit, loaded, active, what it does, description
        rows = [line.split(maxsplit=4) for line in units.splitlines() if line.strip()]
        active = {row[0].removeprefix(_UNIT).removesuffix(".service"): row[-1] for row in rows}
        return _Look(host, active, said if ask or not active else None)

    def _ask(self, host: Host, words: Sequence[str], timeout_s: float = 60.0) -> str:
        answer = Remote(host, self.run).ask(words, timeout_s)
        if answer.returncode:
            raise FleetError(
                f"host {host.name} failed: {answer.complaint}; try {host.program} --version there"
            )
        return answer.stdout


def _systemd_run(host: Host, run_id: str, unit: str, note: str) -> Sequence[str]:
    log = f"append:{host.runs}/{run_id}.log"
    return [*unit_words(unit, note, {"StandardOutput": log, "StandardError": log}), "--"]


def _state(look: _Look) -> HostState:
    if look.said is None:
        return HostState(look.host.name, True, f"measures {', '.join(look.active)}", {})
    return HostState(look.host.name, True, "", look.host.decoded(look.said, dict[str, str | None]))
