"""The host audit outside a run: what is, what it does to results, what can be changed, and changing it."""

from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.file_system import device_below
from openpts.device.link.nearby_cpus import parse_cpu_list
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.journal import Journal
from openpts.programs import ProgramRunner, run_program
from openpts.runner.healing import Healing, heal
from openpts.system_files import SystemRoots, read_lines
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.tuning import Change, ChangeReport, Scenario
from openpts_drives.health.self_test import self_test_fact
from openpts_host.advice.advice import Advice, Grade
from openpts_host.advice.drive import NUMA_NODE, THREADS
from openpts_host.advice.table import ADVICE
from openpts_host.changes import HostChanger
from openpts_host.link.link_settings import link_settings
from openpts_host.link.link_tuning import link_changes
from openpts_host.settings import host_settings
from openpts_host.shared_settings import HOST_SETTING, UNTIL_ASKED, is_of_a_run
from openpts_host.tuning import host_changes

_ALLOWED: Final = "Cpus_allowed_list:"


class AuditFinding(Struct, frozen=True):
    """One line of the audit with its grade. ``remedy`` says how it may be changed; empty where it is good."""

    advice: Advice
    fact: Fact
    grade: Grade
    remedy: str


class Doctor(Struct, frozen=True):
    """Looks at one machine, for measurements of one drive or of whichever (``disk`` is None then)."""

    scenario: Scenario
    roots: SystemRoots
    disk: BlockDevice | None = None
    run: ProgramRunner = run_program

    @classmethod
    def for_target(cls, text: str | None, scenario: Scenario, roots: SystemRoots) -> "Doctor":
        """For the drive that the operator names, or the one below a file. Raises UsageError, TargetError."""
        return cls(scenario, roots, None if text is None else _disk(text, roots))

    def findings(self) -> tuple[AuditFinding, ...]:
        """The audit, in the order of the table of advice; of no drive what belongs to one is left out."""
        facts = self._facts()
        changeable = {change.key for change in self._changes()}
        found = []
        for advice in ADVICE:
            if advice.key not in facts:
                continue
            fact = facts[advice.key]
            grade = advice.grade(fact.value, self.scenario)
            found.append(AuditFinding(advice, fact, grade, _remedy(advice, grade, changeable)))
        return tuple(found)

    def apply(self, journal: Journal) -> tuple[tuple[Healing, ...], tuple[ChangeReport, ...]]:
        """Change what can be changed, until ``restore`` puts it back. Raises JournalError.

        What runs that were killed have left is put back before: it is not what is to come back one day.
        """
        healed = heal(journal, self.roots, {HOST_SETTING}, concerns=is_of_a_run, run=self.run)
        changer = HostChanger(self.roots, journal, UNTIL_ASKED, self.run)
        return healed, changer.make(self._changes())

    def _facts(self) -> Facts:
        if self.disk is None:
            return host_settings(self.roots, run=self.run)
        facts = host_settings(self.roots, self.disk.number, self.run) | link_settings(self.disk, self.roots)
        facts["self_test"] = self_test_fact(self.disk, self.run)
        node = facts[NUMA_NODE]
        if node.value is not None and (threads := _threads(node.value, self.roots)):
            facts[NUMA_NODE] = Fact(f"{node.value}{THREADS}{threads}", node.source)
        return facts

    def _changes(self) -> tuple[Change, ...]:
        changes = host_changes(self.roots, self.scenario, lasting=True, run=self.run)
        return changes if self.disk is None else (*changes, *link_changes(self.disk, self.scenario))


def restore(journal: Journal, roots: SystemRoots, run: ProgramRunner = run_program) -> tuple[Healing, ...]:
    """Put back what was changed on this host and its drives and is in use by no run. Raises JournalError.

    Passwords apart: those are for `openpts purge --unlock`.
    """
    return heal(journal, roots, run=run)


def _disk(text: str, roots: SystemRoots) -> BlockDevice | None:
    target = parse_target(text)
    if isinstance(target, BlockTarget):
        return BlockDevice.of_node(target.path, roots).whole
    path = target.path if target.path.exists() else target.path.parent
    device = device_below(path.resolve(), roots)
    return None if device is None else device.whole


def _threads(node: str, roots: SystemRoots) -> str:
    """Where threads of a run would be pinned: near the drive where they may run there, else anywhere."""
    allowed = next(
        (line.split()[1] for line in read_lines(roots.proc / "self/status") if line.startswith(_ALLOWED)), ""
    )
    near = node.partition("processors ")[2]
    try:
        both = set(parse_cpu_list(near)) & set(parse_cpu_list(allowed))
    except (ValueError, IndexError):
        return near
    return ",".join(map(str, sorted(both))) if both else allowed


def _remedy(advice: Advice, grade: Grade, changeable: set[str]) -> str:
    if grade in {Grade.GOOD, Grade.UNKNOWN}:
        return ""
    if advice.key in changeable:
        return "--apply changes it"
    if advice.remedy or advice.suits is None:
        return advice.remedy
    return "this kernel has no setting for it"
