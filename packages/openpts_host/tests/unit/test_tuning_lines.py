"""What the operator reads at the start of a run that sets the host up."""

from openpts.cli.log_lines import event_lines
from openpts.runner.events import RunStarted
from openpts.runner.progress import RunProgress
from openpts.vocabulary.facts import ChangeReport
from openpts_host.changes import tuning_lines
from tests.support.told_run import STARTED


def told(*reports: ChangeReport) -> list[str]:
    prepared = tuple(tuning_lines(reports))
    started = RunStarted(STARTED.folder, STARTED.manifest, STARTED.plan, preparations=prepared)
    return event_lines(started, RunProgress())[2:]


def test_a_host_that_was_not_set_up_is_no_news() -> None:
    assert told() == []


def test_what_could_not_be_set_is_told_once_for_all_its_places() -> None:
    denied = "Permission denied"
    governors = [
        ChangeReport("governor", f"/sys/cpu{number}/scaling_governor", "powersave", "performance", denied)
        for number in range(4)
    ]
    made = ChangeReport("thp", "/sys/kernel/mm/transparent_hugepage/enabled", "always", "madvise")
    hostile = ChangeReport("else", "/sys/\x1b[2J", None, "1", "no\x07")
    assert told(*governors, made, hostile) == [
        "host set up: 1 of 6 settings changed for the run",
        "not set: Frequency governor: Permission denied (/sys/cpu0/scaling_governor and 3 more)",
        "not set: else: no\ufffd (/sys/\ufffd[2J)",
    ]
