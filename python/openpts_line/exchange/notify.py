"""Messages about a run to chats, mail and web services, by Apprise: retried, bounded, apart from the run."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Final

import apprise
from apprise import NotifyType
from msgspec import Struct, field

from openpts.errors import UsageError
from openpts.runner import events
from openpts.runner.events import Event, Listener
from openpts.runner.step_faults import failed_io_text, hang_text, standstill_text
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.phase import phase_text
from openpts.vocabulary.sample import Sample, StepState

_MOST_WAITING: Final = 50
_PAUSES_S: Final = (1.0, 5.0, 20.0)
_LONGEST_END_S: Final = 40.0


class Message(Struct, frozen=True):
    """What is sent: a line as its title, and what is known."""

    kind: NotifyType
    title: str
    body: str


class Messages(Struct):
    """What of a run's events is worth a message: start, steady state, faults, throttling, verdict, end."""

    _name: str = "openpts"
    _steady: bool = False
    _throttled: bool = False

    def of(self, event: Event) -> Message | None:
        """The message, None for most events."""
        match event:
            case events.RunStarted(folder, manifest):
                self._name = f"{manifest.conditions.test} on {manifest.target.name}"
                self._steady = self._throttled = False
                said = NotifyType.INFO, "run started", f"run folder {folder.absolute()}"
            case events.SteadyStateJudged() if not self._steady and all(one.steady for one in event.reports):
                self._steady = True
                said = NotifyType.INFO, "steady", f"in {phase_text(event.phase, event.round_number)}"
            case events.StepFinished(place, sample) if not self._throttled and _throttles(sample):
                self._throttled = True
                said = NotifyType.WARNING, "the drive throttles", f"in {place}"
            case events.LimitsJudged(limits):
                said = _judged(limits)
            case _ if (found := _said(event)) is not None:
                said = found
            case _:
                return None
        kind, title, body = said
        return Message(kind, f"{self._name}: {title}", body)


def _throttles(sample: Sample) -> bool:
    """Whether the drive throttles, and that is the worst to say of the step."""
    failed = sample.state is StepState.FAILED and sample.failure is not None
    return not failed and any(interval.throttled for interval in sample.intervals)


def _said(event: Event) -> tuple[NotifyType, str, str] | None:
    """Kind, title and body, whatever was said before."""
    match event:
        case events.IoHangs(io):
            return NotifyType.WARNING, "an I/O hangs", hang_text(io)
        case events.HostStalled(place, sample):
            return NotifyType.WARNING, standstill_text(sample), f"in {place}"
        case events.RecordDelayed(_, reason):
            return NotifyType.WARNING, "can't write the record", reason
        case events.HookEnded(run) if not run.succeeded:
            return NotifyType.WARNING, f"hook {run.moment} failed", f"{run.command}: {run.how_it_ended}"
        case events.StepFinished(place, sample) if sample.state is StepState.FAILED and sample.failure:
            return NotifyType.FAILURE, "an I/O failed", f"{failed_io_text(sample.failure)}, in {place}"
        case events.RunEnded(state, why):
            return NotifyType.SUCCESS if why is None else NotifyType.FAILURE, f"run {state}", why or ""
        case events.ProgramEnded(exit_code, error) if exit_code:
            return NotifyType.FAILURE, f"ended with exit code {exit_code}", error or ""
    return None


def _judged(limits: Sequence[JudgedLimit]) -> tuple[NotifyType, str, str]:
    """How many limits became what, and those that were not kept, each with what was found."""
    from openpts.limits.words import limit_line  # noqa: PLC0415 slow to load

    found = Counter(limit.judgement for limit in limits)
    text = ", ".join(f"{found[judgement]} {judgement}" for judgement in Judgement if found[judgement])
    body = "\n".join(limit_line(limit) for limit in limits if limit.judgement is not Judgement.PASS)
    doubted = NotifyType.WARNING if found[Judgement.NO_VERDICT] else NotifyType.SUCCESS
    kind = NotifyType.FAILURE if found[Judgement.FAIL] else doubted
    return kind, f"limits: {text}", body


def services_in(path: Path) -> apprise.Apprise:
    """The services that a file names, a URL a line. Raises UsageError if it names none, or a wrong one.

    Their URLs hold secrets: no error repeats one.
    """
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"can't read --notify {path}: {reason}") from error
    services = apprise.Apprise()
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith("#") and not services.add(line):
            raise UsageError(f"--notify {path}, line {number}: no URL of a service that Apprise knows")
    if not len(services):
        raise UsageError(f"--notify {path} names no service: write a URL a line, such as ntfy://TOPIC")
    return services


class Notifier(Struct):
    """Sends messages from a thread of its own; where too many wait, further ones are dropped and counted."""

    send: Callable[[Message], bool]
    pauses_s: tuple[float, ...] = _PAUSES_S
    unsent: int = 0
    _messages: Messages = field(default_factory=Messages)
    _waiting: Queue[Message | None] = field(default_factory=lambda: Queue(_MOST_WAITING))

    def on_event(self, event: Event) -> None:
        """Queue a message, if the event is worth one; returns at once."""
        message = self._messages.of(event)
        if message is not None:
            try:
                self._waiting.put_nowait(message)
            except Full:
                self.unsent += 1

    @contextmanager
    def sending(self) -> Iterator[Listener]:
        """Messages are sent in the block; at its end those that wait are, for less than a minute."""
        thread = Thread(target=self._send_all, name="notify", daemon=True)
        thread.start()
        try:
            yield self.on_event
        finally:
            self._end(thread)

    def _end(self, thread: Thread) -> None:
        deadline_s = time.monotonic() + _LONGEST_END_S
        try:
            self._waiting.put(None, timeout=_LONGEST_END_S)
            thread.join(max(0.0, deadline_s - time.monotonic()))
        except Full:
            pass
        if thread.is_alive():
            self.unsent += 1  # the one that it tries to send
            while True:
                try:
                    self.unsent += self._waiting.get_nowait() is not None
                except Empty:
                    break

    def _send_all(self) -> None:
        while (message := self._waiting.get()) is not None:
            for pause_s in (*self.pauses_s, None):
                if self.send(message):
                    break
                if pause_s is None:
                    self.unsent += 1
                else:
                    time.sleep(pause_s)


def notifier(path: Path) -> Notifier:
    """A notifier of the services in the file. Raises UsageError as ``services_in`` does."""
    services = services_in(path)

    def send(message: Message) -> bool:
        body = message.body or message.title
        return bool(services.notify(body=body, title=message.title, notify_type=message.kind))

    return Notifier(send)
