"""A fleet on Slurm, as an external program: a run is a job of its name, a drive the slot that it takes.

Slurm starts what its hosts' own openpts then carries out, or attaches to. It keeps a job's state in memory
for seconds before it is on a disk, and forgets an ended job after minutes: a job counts as submitted when it
is seen again, and the host's journal decides how a run ended.
"""

import os
import shlex
import time
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from openpts.errors import FleetError, UsageError
from openpts.programs import ProgramError, ProgramRunner, Reply, run_program
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.fleet.configuration import (
    NOT_BEGUN,
    Fleet,
    FleetHost,
    HostState,
    Observation,
    request_noted,
)

_SEEN_AGAIN_S: Final = 6.0
"""slurmctld writes its state every 5 s at the latest: a job that it still has after that outlives it."""
_TO_ANSWER_S: Final = 60.0
_TO_STOP_S: Final = 120.0
_TO_PLACE_S: Final = 15
_QUEUED: Final = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}
_RUNNING: Final = {"RUNNING", "SUSPENDED", "COMPLETING", "STAGE_OUT", "STOPPED", "SIGNALING", "RESIZING"}
_ENDED: Final = {"COMPLETED": RunState.COMPLETE, "CANCELLED": RunState.CANCELLED}
# not --json, whose form differs from version to version; only the comment may have a bar in it
_JOB_FORMAT: Final = "%i|%j|%T|%N|%n|%r|%k"
_HOST_FORMAT: Final = "%N|%T|%E"
_DOWN: Final = ("down", "drain", "fail", "unk", "no_resp", "maint", "boot", "power")
_NO_REASON: Final = {"none", "None", ""}
_EXCLUSIVE: Final = "--exclusive-host"


class SlurmJob(NamedTuple):
    """A job as squeue tells of it. ``node`` is where it runs, or is to run; ``comment`` is the request."""

    number: int
    run_id: str
    state: str
    node: str
    reason: str
    comment: str

    @property
    def stage(self) -> RunState:
        """What its state says of the run."""
        if self.state in _QUEUED:
            return RunState.QUEUED
        return RunState.RUNNING if self.state in _RUNNING else _ENDED.get(self.state, RunState.FAILED)

    @property
    def is_over(self) -> bool:
        """Whether Slurm has nothing more to do for it."""
        return self.stage not in {RunState.QUEUED, RunState.RUNNING}

    def observation(self, reason: str = "", *, is_certain: bool = False) -> Observation:
        """What Slurm says, with what else there is to say; a job that ended well is a run that did."""
        text = f"Slurm: {self.state}" + ("" if self.reason in _NO_REASON else f", {self.reason}")
        return Observation(
            run_id=self.run_id,
            stage=self.stage,
            host=self.node or None,
            reason=f"{text}; {reason}" if reason else text,
            job=str(self.number),
            request=request_noted(self.comment),
            is_certain=is_certain or self.stage is RunState.COMPLETE,
        )


class SlurmBackend(Struct, frozen=True):
    """The fleet of a fleet file; a slot is a GRES of its name."""

    fleet: Fleet

    def submit(
        self, request: RunRequest, *, again: bool = False, resume_words: Sequence[str] = ()
    ) -> Observation:
        """Submit a run, wait until Slurm would not lose it any more, and look at it.

        A run that the host has claimed before is what the job attaches to, or says the end of.
        ``again`` continues one that was interrupted, as a new attempt, which nothing does by itself, with
        ``resume_words``, the options of `openpts resume`: each attempt has consents of its own. Raises
        FleetError if Slurm can't take it, and UsageError if the fleet has no such slot.
        """
        if request.host is None or request.slot is None:
            raise UsageError(f"run {request.run_id} needs a host and a slot: Slurm allots slots")
        host = self.fleet.host(request.host)
        self.fleet.slot(host.name, request.slot)
        if any(job.run_id == request.run_id and not job.is_over for job in self._jobs()):
            found = self.observe(request.run_id, ask_host=again)
            if not again or found.stage is not RunState.INTERRUPTED:
                return found
        try:
            script = _script(host, request, resume_words, again=again)
            slurm_answer([*self._sbatch(host, request), f"--wrap={script}"])
        except FleetError:
            if not any(job.run_id == request.run_id for job in self._jobs()):
                raise  # else it took the job, and only its answer was lost
        time.sleep(_SEEN_AGAIN_S)
        return self.observe(request.run_id)

    def _sbatch(self, host: FleetHost, request: RunRequest) -> Sequence[str]:
        run_id = request.run_id
        arguments = ["sbatch", "--parsable", "--no-requeue", f"--job-name={run_id}"]
        arguments += [f"--comment={msgspec.json.encode(request).decode()}"]
        arguments += [f"--nodelist={host.name}", f"--gres=slot:{request.slot}:1", "--ntasks=1"]
        arguments += ["--dependency=singleton", "--export=NIL", "--chdir=/", "--open-mode=append"]
        arguments += [f"--output={host.runs}/{run_id}.log"]
        return [*arguments, "--exclusive"] if _EXCLUSIVE in request.test_words else arguments

    def observe(self, run_id: str, *, ask_host: bool = False) -> Observation:
        """Where a run stands; the host is asked when nothing is measured on it. Raises FleetError."""
        jobs = self._jobs()
        job = max((job for job in jobs if job.run_id == run_id), default=None)
        if job is not None and (job.stage is RunState.QUEUED or not (job.is_over or ask_host)):
            return job.observation()
        asked = [job.node] if job is not None and job.node else self.fleet.hosts
        unasked = []
        for host in map(self.fleet.host, asked):
            if not ask_host and _measuring(host.name, jobs):
                unasked.append(f"{host.name} measures, so its journal is not read")
                continue
            try:
                for found in self._journal(host, run_id):
                    # a job that still runs after its run's last process only holds the slot
                    is_left = found.stage not in {RunState.RUNNING, RunState.QUEUED}
                    if job is not None and not job.is_over and found.job == str(job.number) and is_left:
                        slurm_answer(["scancel", str(job.number)])
                    return found
            except FleetError as error:
                unasked.append(str(error))
        if job is not None:
            reason = "; ".join(unasked) or f"no openpts has begun it: see {run_id}.log there"
            return job.observation(reason, is_certain=not unasked)
        reason = "; ".join(unasked) or NOT_BEGUN
        text = f"unknown to Slurm; {reason}"
        return Observation(run_id, RunState.UNKNOWN, None, text, is_certain=not unasked)

    def cancel(self, run_id: str) -> Observation:
        """Stop a run on its host, so that nothing starts it again, and take its job from the queue.

        Raises FleetError if Slurm does not answer, or a process of the run can't be stopped.
        """
        jobs = self._jobs()
        job = max((job for job in jobs if job.run_id == run_id), default=None)
        trouble: FleetError | None = None
        may_have_begun = job is None or job.stage is not RunState.QUEUED
        if may_have_begun:
            observed = self.observe(run_id, ask_host=True)
            if observed.host is not None:
                try:
                    self._ask(self.fleet.host(observed.host), "stop", run_id, patience_s=_TO_STOP_S)
                except FleetError as error:
                    trouble = error
        slurm_answer(["scancel", f"--name={run_id}"])
        if trouble is not None:
            raise FleetError(f"its job is cancelled, but the host could not be asked to end it: {trouble}")
        # Slurm calls a job that was cancelled COMPLETING until its processes are gone: the host knows better
        return self.observe(run_id, ask_host=may_have_begun)

    def list(self) -> Sequence[Observation]:
        """All runs that Slurm has not forgotten, and those in the journals of hosts that can be asked."""
        jobs = self._jobs()
        found = {job.run_id: job.observation() for job in sorted(jobs)}
        queued = {run_id for run_id, run in found.items() if run.stage is RunState.QUEUED}
        for host in self.fleet.hosts.values():
            if _measuring(host.name, jobs):
                continue
            try:
                reported = self._journal(host)
            except FleetError:
                continue  # `hosts` says which can't be asked
            found |= {run.run_id: run for run in reported if run.run_id not in queued}
        return [found[run_id] for run_id in sorted(found)]

    def hosts(self) -> Sequence[HostState]:
        """All hosts of the fleet file, with what is in their slots where nothing is measured."""
        jobs = self._jobs()
        lines = slurm_answer(["sinfo", "--noheader", "--Node", f"--format={_HOST_FORMAT}"]).splitlines()
        reported = {name: (state, reason) for name, state, reason in (line.split("|", 2) for line in lines)}
        return [self._host_state(host, reported.get(host.name), jobs) for host in self.fleet.hosts.values()]

    def _host_state(
        self, host: FleetHost, reported: tuple[str, str] | None, jobs: Sequence[SlurmJob]
    ) -> HostState:
        if reported is None:
            return HostState(host.name, False, "Slurm has no such node", {})
        state, reason = reported
        text = f"Slurm: {state}" + ("" if reason in _NO_REASON else f", {reason}")
        if state.rstrip("*") != state or state.lower().startswith(_DOWN):
            return HostState(host.name, False, text, {})
        if running := [job.run_id for job in jobs if job.node == host.name and job.stage is RunState.RUNNING]:
            return HostState(host.name, True, f"measures {', '.join(running)}", {})
        try:
            slots = host.decoded(self._ask(host, "slots"), dict[str, str | None])
        except FleetError as error:
            return HostState(host.name, False, f"{text}; {error}", {})
        return HostState(host.name, True, text, slots)

    def _journal(self, host: FleetHost, run_id: str = "") -> tuple[Observation, ...]:
        arguments = [run_id] if run_id else []
        return host.decoded(self._ask(host, "journal", *arguments), tuple[Observation, ...])

    def _ask(self, host: FleetHost, verb: str, *arguments: str, patience_s: float = _TO_ANSWER_S) -> str:
        """What a verb says on the host, as a job of its own that takes no slot."""
        return slurm_answer([*job_on(host, patience_s), *host.command(verb), *arguments], patience_s)

    def _jobs(self) -> tuple[SlurmJob, ...]:
        """All jobs that are runs, also those that have ended. Raises FleetError."""
        text = slurm_answer(["squeue", "--noheader", "--states=all", f"--format={_JOB_FORMAT}"])
        split = (line.split("|", 6) for line in text.splitlines())
        return tuple(
            SlurmJob(int(number), name, state, node or requested, reason, comment)
            for number, name, state, node, requested, reason, comment in split
            if _is_run_id(name)
        )


def job_on(host: FleetHost, patience_s: float) -> list[str]:
    """The words before those of a program that runs on a host as a job of its own, which takes no slot."""
    placed = ["srun", "--quiet", f"--nodelist={host.name}", "--ntasks=1", f"--immediate={_TO_PLACE_S}"]
    # an srun that is killed, or that slurmctld forgot, leaves its job behind, with a processor
    minutes = round(patience_s / 60)
    return [*placed, "--job-name=openpts-journal", f"--time={minutes}", "--export=NIL", "--chdir=/"]


def _script(host: FleetHost, request: RunRequest, resume_words: Sequence[str], *, again: bool) -> str:
    start = shlex.join([*host.command("start"), *["--again"] * again])
    requested = shlex.join([msgspec.json.encode(request).decode(), *resume_words])
    return f'exec {start} --job "$SLURM_JOB_ID" -- {requested}'


def _measuring(host: str, jobs: Sequence[SlurmJob]) -> bool:
    return any(job.node == host and job.stage is RunState.RUNNING for job in jobs)


def _is_run_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def run_with_open_stdin(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
    """Run a program of Slurm as run_program does, without an end of file on its standard input.

    srun sends that end to the host. A job that ends before it has been read there has its connection reset,
    which drops what it wrote last; srun exits with 0 even so.
    """
    reading, writing = os.pipe()
    try:
        return run_program(command, timeout_s, to_the_end=to_the_end, stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)


def slurm_answer(
    arguments: Sequence[str], patience_s: float = _TO_ANSWER_S, run: ProgramRunner = run_with_open_stdin
) -> str:
    """What a program of Slurm says. Raises FleetError if it is missing, fails, or does not end in time."""
    try:
        answer = run(arguments, patience_s)
    except ProgramError as error:
        raise FleetError(f"Slurm can't be asked: {error}: openpts does so where its commands are") from error
    if answer.returncode:
        why = _complaint(answer.stderr, arguments[0]) or f"exit status {answer.returncode}"
        raise FleetError(f"{arguments[0]} failed: {why}")
    return answer.stdout


def _complaint(stderr: str, program: str) -> str:
    """The last line that says something; srun adds one that a task has ended."""
    lines = [line for line in stderr.splitlines() if line.strip() and "Exited with exit code" not in line]
    return lines[-1].removeprefix(f"{program}: ").removeprefix("error: ").strip() if lines else ""
