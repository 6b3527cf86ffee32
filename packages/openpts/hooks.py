"""All moments of a run at which something beside the test takes part: read this first.

A run measures; whatever surrounds it is a concern: facts of the host, its settings, what is sampled, the
operator's commands, what a killed run has left behind. The run names none of them: each comes in by the door
of plug-ins, ``concern.NAME = "module:Class"``, those of openpts first, then by name. In this order moments
are called; contexts are left in the reverse one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import OpenptsError, PluginError
from openpts.plugins import Kind, Offer, calling, load, offers
from openpts.vocabulary.facts import HealthReading

if TYPE_CHECKING:  # the run has loaded them
    from openpts.device.block_device import BlockDevice
    from openpts.device.targets.open_target import OpenTarget
    from openpts.device.targets.target import Target
    from openpts.engine.contract import CapturingEngine
    from openpts.engine.options import Demand
    from openpts.gauge import Gauge
    from openpts.journal import Entry, JournalSnapshot
    from openpts.programs import ProgramRunner as RunProgram
    from openpts.record.health import TelemetryPoint
    from openpts.record.manifest import Manifest
    from openpts.record.reader import Run
    from openpts.record.spooling_writer import SpoolingWriter
    from openpts.runner.device_under_test import DeviceUnderTest
    from openpts.runner.events import Event, Listener
    from openpts.runner.settings import RunSettings
    from openpts.system_files import SystemRoots
    from openpts.vocabulary.facts import Facts
    from openpts.vocabulary.sample import Sample, StepPlace
    from openpts.vocabulary.stimulus import Step
    from openpts.vocabulary.verdict import Deviation


class RunContext(Struct):
    """What is known of a run: ``settings`` and ``device`` from the first moment on, the rest as it comes.

    ``steps`` are all that it may carry out, ``demand`` is the largest of them, ``attempt`` counts from 1.
    """

    settings: "RunSettings"
    device: "DeviceUnderTest"
    folder: Path = Path()
    steps: "tuple[Step, ...]" = ()
    attempt: int = 1
    demand: "Demand | None" = None
    engine: "CapturingEngine | None" = None
    manifest: "Manifest | None" = None
    writer: "SpoolingWriter | None" = None
    emit: "Listener | None" = None
    _record: "Run | None" = None

    @property
    def is_simulated(self) -> bool:
        """Whether its time is virtual: then no host and no drive that exists bears on it."""
        return self.device.facts.simulation is not None

    @property
    def record(self) -> "Run":
        """All that was recorded, as it is when it is first asked for. Raises RecordError."""
        if self._record is None:
            from openpts.record.reader import stored_run  # noqa: PLC0415 few runs are read again

            self._record = stored_run(self.folder)
        return self._record


class Healer(Struct, frozen=True):
    """Puts back what entries of one kind in the undo journal record, once their process is gone.

    ``put_back`` gives one line that says what was put back; where it raises OpenptsError the entry stays.
    ``still_needed`` says why an entry stays as it is for now, since others rely on it; it is asked, and the
    entry put back, under the journal's lock. ``bears_on`` says whether a run on a target, whose device is
    None for a file, puts an entry back; without it, those do that are on the drive which the entry names.
    ``by_itself``: no operator has to ask for it. ``of_drive``: the drive is claimed meanwhile. ``refusal``
    says why no run begins on the drive that an entry names, whose process is gone; with False, it lives.
    """

    put_back: "Callable[[Entry, SystemRoots, RunProgram], str]"
    still_needed: "Callable[[Entry, JournalSnapshot, SystemRoots], str | None] | None" = None
    bears_on: "Callable[[Entry, Target, BlockDevice | None], bool] | None" = None
    by_itself: bool = True
    of_drive: bool = True
    refusal: "Callable[[Entry, Target, bool], str] | None" = None


class Concern:
    """Does nothing at any moment: a subclass has those that it needs, and each run an object of its own.

    Each moment may raise OpenptsError, which ends the run as an error of its own does.
    """

    def around_run(self, run: RunContext) -> AbstractContextManager[object]:
        """From when the device is open until the record is closed."""
        return nullcontext()

    def check(self, settings: "RunSettings") -> None:
        """Raise OpenptsError for what can't be done, before anything is changed."""

    def facts(self, run: RunContext) -> "Mapping[str, Facts]":
        """Facts for the manifest, by its field: ``host``, ``software``."""
        return {}

    def around_engine(self, run: RunContext) -> AbstractContextManager[Mapping[str, Any]]:
        """While there is an engine, and before it is made; yields fields of the manifest."""
        return nullcontext({})

    def options(self, run: RunContext) -> Mapping[str, Any]:
        """Fields of the engine's options, before it is made."""
        return {}

    def gauges(self, run: RunContext) -> "Iterable[Gauge]":
        """What is sampled while the engine works."""
        return ()

    def around_record(self, run: RunContext) -> AbstractContextManager[object]:
        """While there is a record, after the run's start was announced."""
        return nullcontext()

    def preparations(self, run: RunContext) -> Iterable[str]:
        """Lines on what was set up for the run, for the operator at its start."""
        return ()

    def announcements(self, run: RunContext) -> Iterable[str]:
        """Sentences on what will limit the run, for the operator at its start."""
        return ()

    def around_steps(self, run: RunContext) -> AbstractContextManager[object]:
        """While the script is carried out; a context that yields True has the log read after each phase."""
        return nullcontext()

    def surroundings(self, run: RunContext) -> "Facts":
        """Settings and states that bear on the figures, before the first step and after the last."""
        return {}

    def health_of(self, target: "OpenTarget") -> "HealthReading | None":
        """The drive's own log, of a run or of none; None where another concern reads it. Never raises."""
        return None

    def log_values(self, run: RunContext) -> Mapping[str, float]:
        """Values beside those of the drive's own log, whenever that is read. Never raises."""
        return {}

    def follows(
        self,
        run: RunContext,
        steps: "Sequence[tuple[StepPlace, Sample]]",
        points: "Sequence[TelemetryPoint]",
        now_ns: int,
        ended: bool,
    ) -> "Iterable[Event]":
        """Events that follow from steps in the record and from what was sampled.

        Each is handed over once, at a time of the engine's clock; ``ended``: no more will come.
        """
        return ()

    def on_event(self, event: "Event") -> None:
        """Called with whatever happens, before other listeners are."""

    def findings(self, run: RunContext) -> "Iterable[Deviation]":
        """Entries of the ledger that only the record shows, when all steps have ended."""
        return ()

    def healer_of(self, kind: str) -> Healer | None:
        """What puts back entries of this kind in the undo journal; None for kinds of others."""
        return None


MOMENTS: Final = {name: what for name, what in vars(Concern).items() if not name.startswith("_")}
"""By their names, what a concern does at them that has none of its own."""


class Concerns:
    """All concerns of one run, as one. The runner fills in what is known of ``run`` after it has begun."""

    run: RunContext

    def __init__(self) -> None:
        each = tuple(_joined())
        self._at = {
            moment: tuple(one for one in each if getattr(type(one[1]), moment) is not nothing)
            for moment, nothing in MOMENTS.items()
        }

    @contextmanager
    def around_run(self, settings: "RunSettings", device: "DeviceUnderTest") -> Iterator[None]:
        self.run = RunContext(settings, device)
        with self._around("around_run"):
            yield

    def check(self, settings: "RunSettings") -> None:
        self._every("check", settings)

    def facts(self) -> "dict[str, Facts]":
        """See Concern: those of all, by field."""
        found: dict[str, Facts] = {}
        for of_one in self._every("facts", self.run):
            for name, facts in of_one.items():
                found[name] = {**found.get(name, {}), **facts}
        return found

    @contextmanager
    def around_engine(self, manifest: "Manifest") -> "Iterator[Manifest]":
        """See Concern; yields the manifest with their fields: facts are added to those that it has."""
        with self._around("around_engine") as yielded:
            for name, value in (field for fields in yielded for field in fields.items()):
                before = getattr(manifest, name)
                manifest = replace(manifest, **{name: before | value if isinstance(value, dict) else value})
            yield manifest

    def options(self) -> dict[str, Any]:
        return self._merged("options")

    def gauges(self) -> "tuple[Gauge, ...]":
        return self._all("gauges", self.run)

    def around_record(self) -> AbstractContextManager[object]:
        return self._around("around_record")

    def preparations(self) -> tuple[str, ...]:
        return self._all("preparations", self.run)

    def announcements(self) -> tuple[str, ...]:
        return self._all("announcements", self.run)

    @contextmanager
    def around_steps(self) -> Iterator[bool]:
        """See Concern; yields whether the drive's log is to be read after each phase."""
        with self._around("around_steps") as yielded:
            yield True in yielded

    def surroundings(self) -> "Facts":
        return self._merged("surroundings")

    def health(self) -> "HealthReading":
        """The drive's own log, with the values of all."""
        reading = self.run.device.health()
        values = self._merged("log_values")
        return replace(reading, values={**reading.values, **values}) if values else reading

    def follows(self, *recorded: Any) -> "tuple[Event, ...]":
        return self._all("follows", self.run, *recorded)

    def on_event(self, event: "Event") -> None:
        self._every("on_event", event)

    def findings(self) -> "tuple[Deviation, ...]":
        return self._all("findings", self.run)

    def _every(self, moment: str, *arguments: Any) -> list[Any]:
        found = []
        for offer, one in self._at[moment]:
            with _confined(offer):
                found.append(getattr(one, moment)(*arguments))
        return found

    def _all(self, moment: str, *arguments: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        for offer, one in self._at[moment]:
            with _confined(offer):
                found += getattr(one, moment)(*arguments)
        return tuple(found)

    def _merged(self, moment: str) -> dict[str, Any]:
        return {name: value for one in self._every(moment, self.run) for name, value in one.items()}

    @contextmanager
    def _around(self, moment: str) -> Iterator[list[Any]]:
        """All contexts of a moment, one in the other, with what they yielded."""
        with ExitStack() as held:
            yielded = []
            for offer, one in self._at[moment]:
                with _confined(offer):
                    yielded.append(held.enter_context(getattr(one, moment)(self.run)))
            yield yielded


def _joined() -> Iterator[tuple[Offer, Concern]]:
    found = offers(Kind.CONCERN).values()
    for offer in sorted(found, key=lambda one: (not one.package.is_own, one.name)):
        made = load(offer)
        if not (isinstance(made, type) and issubclass(made, Concern)):
            raise offer.error("can't load", f"{offer.where} is no subclass of openpts.hooks.Concern")
        with _confined(offer):
            one = made()
        yield offer, one


def _confined(offer: Offer) -> AbstractContextManager[None]:
    """Raise with its name whatever goes wrong in the code of a plug-in that is not openpts' own."""
    return calling(offer, Exception if offer.package.is_own else OpenptsError)


def health_of(target: "OpenTarget") -> HealthReading:
    """The drive's own log, by the first concern that reads it. Never raises but for a broken plug-in."""
    for offer, one in _joined():
        with _confined(offer):
            if (reading := one.health_of(target)) is not None:
                return reading
    return HealthReading("nothing that is installed reads a drive's log")


def healer_of(kind: str) -> Healer:
    """What puts back such entries of the undo journal; where nothing that is installed can, no run begins."""
    why = "no plug-in that is installed knows of it"
    try:  # openpts' own come first, and are found whatever is wrong with others
        for offer, one in _joined():
            with _confined(offer):
                if (healer := one.healer_of(kind)) is not None:
                    return healer
    except PluginError as error:
        why = str(error)

    def put_back(_entry: "Entry", _roots: "SystemRoots", _run: "RunProgram") -> str:
        raise PluginError(why)

    def refusal(entry: "Entry", target: "Target", _is_left: bool) -> str:
        return f"openpts changed the {entry.kind} of {target} on {entry.made_at}, and can't restore it: {why}"

    return Healer(put_back, of_drive=False, refusal=refusal)
