"""What a test is: a folder that declares it, and parts that are loaded when they are first asked for."""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from openpts.fields.conditions import Conditions
from openpts.plugins import Kind, calling, load, offers
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Answer, Apply, Purge, ReadHealth, Script
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation

if TYPE_CHECKING:  # a plan needs none of them
    from openpts.procedures.kit.content import ReportContent
    from openpts.record.reader import Run
    from openpts_pages.kit import Required


# loaded on demand, with their pages
_UNCERTAINTY: Final = "openpts.procedures.kit.uncertainty_page"


@cache
def _module(name: str) -> Any:
    """Looking whether it exists takes longer than to import it again."""
    return import_module(name) if find_spec(name) else None


class Procedure(Struct, frozen=True, dict=True):
    """One test, declared in the ``__init__`` of its folder ``package``, whose modules are its parts.

    ``script`` has the standard conditions, the script and the rules of the ledger; ``report`` what the test
    adds to a report, ``short`` to a short one, ``comparison`` to one of several runs beyond the curves of its
    report; ``findings`` what only the measured figures show to deviate; ``checks`` what a judge looks for in
    the record, and how unclear text of the specification is read; ``continuation`` what a finished run leaves
    for one that continues it. Each is imported on first use: a plan needs no plots. A part that a test has no
    need of is left out.

    ``question`` is what a user wants to know who runs it: its page of the manual and its report begin
    with it. ``section`` is that of the specification, None for a test of the practice beyond it.
    ``purpose`` is for the help of its command. ``quick`` is what ``--quick`` gives, by parameter.
    ``purges``: whether the script asks for any purge. ``resumes``: it lasts for months, and a run that was
    cut off continues with the phase that was cut; another run may continue one that is complete. ``driver``
    carries it out, as ``module:class``; loaded on first use. ``target_help`` says what TARGET may be where
    that is no single drive.
    ``has_limits``: what it measures is held against limits, and a drive that fails one ends it with an error.
    ``interval_histograms``: its report needs the response times of each interval.
    ``at_rated_demand``: its rounds keep as many I/Os outstanding as the figures of data sheets have.
    ``log_around``: phases with breaks before and after each program, in which the drive's log may be read,
    so that it is known what the drive wrote to its media in them.
    ``phase_line`` is the function that says what a phase measured, as ``module:function``, where the log
    can't know it; it takes the progress of the run, and gives None for a phase like those of other tests,
    an empty text for steps after which nothing is to be said.
    ``lists`` prints what ships for the test, as ``module:function`` of a name, which may be empty, and
    ``as_json``.
    ``sections`` are those of the manifest that its driver keeps, with the ``module:type`` of their entries.
    ``trends`` are plots of its report for the summary at its front, by their rank among those of all tests.
    """

    package: str
    conditions: type[Conditions]
    title: str
    short_title: str
    purpose: str
    question: str = ""
    quick: Mapping[str, Any] = field(default_factory=dict)
    section: int | None = None
    purges: bool = True
    resumes: bool = False
    driver: str = "openpts.runner.driver:Driver"
    target_help: str = ""
    has_limits: bool = False
    interval_histograms: bool = False
    at_rated_demand: bool = False
    log_around: frozenset[Phase] = frozenset()
    trends: Mapping[int, str] = field(default_factory=dict)
    phase_line: str = ""
    lists: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The test's short name: ``iops``."""
        return str(self.conditions.__struct_config__.tag)

    @property
    def source(self) -> str:
        """``PTS section 7``, or that the specification does not know it."""
        return "practice beyond PTS" if self.section is None else f"PTS section {self.section}"

    @property
    def summary(self) -> str:
        """In a list of tests: the question that it answers, and its section of the specification."""
        text = self.question or f"{self.title} test."
        return text if self.section is None else f"{text} (PTS {self.section})"

    def part(self, name: str) -> Any:
        """A module of the test's folder, such as ``script``; None if the test has no such part."""
        return _module(f"{self.package}.{name}")

    @cached_property
    def _script(self) -> Any:
        return self.part("script")

    def standard_conditions(self, drive_class: DriveClass, seed: int) -> Any:
        """The conditions as the specification, or the definition of the test, has them."""
        return self._script.standard_conditions(drive_class, seed)

    @property
    def caches_of_client(self) -> bool:
        """Whether the class of clients has the volatile write cache on."""
        return bool(getattr(self.standard_conditions(DriveClass.CLIENT, 0), "write_cache_enabled", False))

    def script(self, conditions: Conditions, user_capacity_bytes: int) -> Script:
        """The steps of the test under conditions of its own kind."""
        script: Script = self._script.script(conditions, user_capacity_bytes)
        return with_log_readings(script, self.log_around)

    @property
    def rules(self) -> Sequence[Any]:
        """The rules of the ledger; none for a test whose every change is entered."""
        return getattr(self._script, "RULES", ())

    def supported_on(self, conditions: Any, sector_bytes: int, scale: int = 1) -> Any:
        """The conditions without what a device with sectors of so many bytes can't do.

        ``scale`` is that of a simulated drive.
        """
        possible = self._adjusted("supported_on", conditions, sector_bytes)
        return possible if scale == 1 else self._adjusted("at_scale", possible, scale)

    def without_data(self, conditions: Any) -> Any:
        """The conditions without what a simulated drive can't do, which keeps no data."""
        return self._adjusted("without_data", conditions)

    def _adjusted(self, name: str, conditions: Any, *arguments: Any) -> Any:
        adjust: Callable[..., Any] | None = getattr(self._script, name, None)
        return conditions if adjust is None else adjust(conditions, *arguments)

    def report(self, run: "Run") -> "ReportContent":
        """What the test adds to the report of a run of it."""
        content: ReportContent = _module(_UNCERTAINTY).with_uncertainty(self.part("report").report(run), run)
        for offer in offers(Kind.CONTENT).values():
            with_more = load(offer)
            with calling(offer):
                content = with_more(content, run)
        return content

    @property
    def required(self) -> "Mapping[str, tuple[Required, ...]]":
        """The plots and tables that the specification demands, by section of the test's pages.

        A test with other workloads or sizes may have further sections, which have the same.
        """
        found: Any = getattr(self.part("report"), "REQUIRED", {})
        return found if isinstance(found, Mapping) else {self.name: found}

    def findings(self, run: "Run") -> tuple[Deviation, ...]:
        """The deviations that only the measured figures of a finished run show."""
        part = self.part("findings")
        found: tuple[Deviation, ...] = part.findings(run) if part else ()
        return found


def with_log_readings(script: Script, phases: Container[Phase]) -> Script:
    """The script, which also asks for a reading before and after each program of these phases.

    One reading between two programs is enough for all that ask; around a purge and at the end of a run
    the log is read in any case.
    """
    answer: Answer = None
    last: Apply | None = None
    is_read = True
    while True:
        try:
            request = script.send(answer)
        except StopIteration:
            return
        if isinstance(request, Apply):
            asks = last if last is not None and last.phase in phases else request
            if not is_read and asks.phase in phases:
                yield ReadHealth(asks.phase, asks.number)
            last, is_read = request, False
        elif isinstance(request, Purge | ReadHealth):
            is_read = True
        answer = yield request
