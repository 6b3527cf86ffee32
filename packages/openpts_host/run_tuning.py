"""Sets the host up for a run and puts it back at the end, also after one that failed."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from openpts.journal import Journal
from openpts.programs import ProgramRunner, run_program
from openpts.system_files import SystemRoots, printable
from openpts.vocabulary.facts import Change, ChangeReport, Scenario
from openpts_host.advice.machine import SHALLOW_US
from openpts_host.advice.table import ADVICE_OF
from openpts_host.changes import UNTIL_THE_END, HostChanger
from openpts_host.services import no_sleep
from openpts_host.setting_file import HostSettingError, held_open


@contextmanager
def tuned_host(
    changes: Sequence[Change],
    scenario: Scenario,
    roots: SystemRoots,
    journal: Journal,
    run: ProgramRunner = run_program,
) -> Iterator[tuple[ChangeReport, ...]]:
    """The host with these changes and what only a living process can hold, for the time of the block.

    What can't be changed is in the reports and is not an error. Raises JournalError, and at the end
    HostSettingError if something could not be put back: it stays in the journal.
    """
    changer = HostChanger(roots, journal, UNTIL_THE_END, run)
    with ExitStack() as held:
        reports = []
        if scenario is Scenario.SYNTHETIC:
            path = roots.dev / "cpu_dma_latency"
            failure = _try_to_hold(held, held_open(path, struct.pack("=i", SHALLOW_US)))
            reports.append(
                ChangeReport("c_states", str(path), None, f"{SHALLOW_US} us to wake at most", failure)
            )
        failure = _try_to_hold(held, no_sleep(roots))
        reports.append(ChangeReport("sleep", "logind", None, "forbidden", failure))
        try:
            yield (*reports, *changer.make(changes))
        finally:
            complaints = changer.put_back()
    if complaints:
        raise HostSettingError(f"{'; '.join(complaints)}: `openpts doctor --restore` tries again")


def tuning_lines(reports: Sequence[ChangeReport]) -> Iterator[str]:
    """How much of the host was set up for the run, and what could not be, the same in many places once."""
    if not reports:
        return
    made = sum(not report.failure for report in reports)
    yield f"host set up: {made} of {len(reports)} settings changed for the run"
    places: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        if report.failure:
            places.setdefault((report.key, report.failure), []).append(report.place)
    for (key, failure), where in places.items():
        title = ADVICE_OF[key].title if key in ADVICE_OF else printable(key)
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        yield f"not set: {title}: {printable(failure)} ({printable(where[0])}{more})"


def _try_to_hold(held: ExitStack, request: AbstractContextManager[None]) -> str:
    """Enters ``request`` and keeps it open in ``held``; returns why that failed, empty on success."""
    try:
        held.enter_context(request)
    except HostSettingError as error:
        return str(error)
    return ""
