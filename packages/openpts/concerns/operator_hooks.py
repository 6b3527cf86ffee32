"""Starts the operator's commands at moments of a run, and keeps how they ended."""

import os
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from queue import SimpleQueue
from types import MappingProxyType
from typing import Final

from openpts.errors import InterruptedRunError, RecordError, RunFailedError
from openpts.hooks import Concern, RunContext
from openpts.programs import kill_program, refuse_missing
from openpts.record.batch import BatchEntry, entry_of
from openpts.record.manifest import RunState
from openpts.runner.event_lines import CycleEnded, HookEnded, PurgeStarted
from openpts.runner.events import Event, StepsStarted
from openpts.runner.settings import RunSettings
from openpts.system_files import printable
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.hook import Hook, HookPoint, HookRun
from openpts.vocabulary.sample import phase_text

_KEPT_OUTPUT: Final = 1000
_GRACE_S: Final = 2.0
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class OperatorHooks(Concern):
    """The commands of one run. The record has how each ended, as soon as the run's own thread comes by."""

    run: RunContext

    def __init__(self) -> None:
        self._hooks: Sequence[Hook] = ()
        self._ended = SimpleQueue[HookRun]()
        self._kept: list[HookRun] = []
        self._beside: list[threading.Thread] = []
        self._over = threading.Event()

    def check(self, settings: RunSettings) -> None:
        """Raise UsageError if a program can't be found: hours later it would be a line in the record."""
        for hook in map(Hook.of, settings.hooks):
            refuse_missing(shlex.split(hook.command)[0], f"--hook {hook.moment}")

    @contextmanager
    def around_record(self, run: RunContext) -> Iterator[None]:
        """Run the hooks of the run's start and end. Raises RunFailedError if one of the start fails."""
        self.run, self._hooks = run, tuple(map(Hook.of, run.settings.hooks))
        state = RunState.FAILED
        for hook in self._at(HookPoint.TIME):
            self._start_beside(hook, f"after {format_duration(round(hook.after_s * NS_PER_S))}")
        try:
            self._wait_for(HookPoint.RUN_START, "")
            if failed := next((run for run in self._kept if not run.succeeded), None):
                raise RunFailedError(f"--hook run-start: {failed.command!r}: {failed.how_it_ended}")
            yield
            state = RunState.COMPLETE
        except (InterruptedRunError, KeyboardInterrupt):
            state = RunState.INTERRUPTED
            raise
        finally:
            self._over.set()
            self._wait_for(HookPoint.RUN_END, "", {"OPENPTS_RUN_STATE": state.value})
            for thread in self._beside:
                thread.join(run.settings.hook_limit_s + 2 * _GRACE_S)
            self._keep()

    def on_event(self, event: Event) -> None:
        """Start what is to be started at this event, and keep what has ended."""
        match event:
            case PurgeStarted():
                self._wait_for(HookPoint.CYCLE_START, "")
            case CycleEnded(cycle=cycle):
                self._wait_for(HookPoint.CYCLE_END, f"cycle {cycle}", {"OPENPTS_CYCLE": str(cycle)})
            case StepsStarted(cycle, apply):
                place = phase_text(apply.phase, apply.number)
                environment = {
                    "OPENPTS_CYCLE": str(cycle),
                    "OPENPTS_PHASE": apply.phase.value,
                    "OPENPTS_NUMBER": str(apply.number),
                }
                for hook in self._at(HookPoint.PHASE_START):
                    self._start_beside(hook, place, environment)
            case HookEnded():
                return
            case _:
                pass
        self._keep()

    def _at(self, moment: HookPoint) -> list[Hook]:
        return [hook for hook in self._hooks if hook.moment is moment]

    def _wait_for(self, moment: HookPoint, place: str, environment: Mapping[str, str] = _NOTHING) -> None:
        for hook in self._at(moment):
            self._ended.put(self._run(hook, place, environment))
        self._keep()

    def _start_beside(self, hook: Hook, place: str, environment: Mapping[str, str] = _NOTHING) -> None:
        def later() -> None:
            if not self._over.wait(hook.after_s) or not hook.after_s:
                self._ended.put(self._run(hook, place, environment))

        thread = threading.Thread(target=later, name="hook", daemon=True)
        self._beside.append(thread)
        thread.start()

    def _keep(self) -> None:
        new = []
        while not self._ended.empty():
            new.append(self._ended.get())
        if not new:
            return
        self._kept += new
        assert self.run.manifest is not None  # noqa: S101 there is a record
        assert self.run.writer is not None  # noqa: S101 likewise
        assert self.run.emit is not None  # noqa: S101 likewise
        self.run.writer.update_manifest(hooks=(*self.run.manifest.hooks, *self._kept))
        for run in new:
            self.run.emit(HookEnded(hook=run))

    def _run(self, hook: Hook, place: str, environment: Mapping[str, str]) -> HookRun:
        """Run the command to its end, or to its time limit, at which all that it started is killed."""
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        started_ns = time.monotonic_ns()
        exit_code, failure, output = _run(
            hook.command, self.run.settings.hook_limit_s, self._environment(hook, environment)
        )
        return HookRun(
            moment=hook.moment,
            place=place,
            command=hook.command,
            started_at=started_at,
            elapsed_ns=time.monotonic_ns() - started_ns,
            exit_code=exit_code,
            failure=failure,
            output=printable(output[-_KEPT_OUTPUT:]),
        )

    def _environment(self, hook: Hook, more: Mapping[str, str]) -> dict[str, str]:
        manifest, folder = self.run.manifest, self.run.folder.absolute()
        assert manifest is not None  # noqa: S101 there is a record
        dut = manifest.dut
        of_batch: BatchEntry | None = None
        with suppress(RecordError):  # a command is no reason to end a run that can be carried out
            of_batch = entry_of(folder)
        slot_in_batch = None if of_batch is None else of_batch.slot or of_batch.request.slot
        return {
            **os.environ,
            "OPENPTS_MOMENT": hook.moment.value,
            "OPENPTS_FOLDER": str(folder),
            "OPENPTS_RUN": manifest.test_id,
            "OPENPTS_TEST": manifest.conditions.test,
            "OPENPTS_TARGET": manifest.target.path,
            "OPENPTS_SERIAL": fact_of(dut, "serial") or "",
            "OPENPTS_SLOT": slot_in_batch or fact_of(dut, "slot") or "",
            "OPENPTS_BATCH": "" if of_batch is None else str(folder.parent),
            **more,
        }


def _run(command: str, limit_s: float, environment: Mapping[str, str]) -> tuple[int | None, str, str]:
    """Exit code, what went wrong, and what was printed. There is no shell."""
    try:
        process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return None, f"can't be started: {reason or error}", ""
    try:
        output, _ = process.communicate(timeout=limit_s)
    except KeyboardInterrupt:
        kill_program(process)
        raise
    except subprocess.TimeoutExpired:
        kill_program(process)
        return None, f"killed at its time limit of {format_duration(round(limit_s * NS_PER_S))}", ""
    return process.returncode, "", output
