"""`openpts doctor`: what of this machine bears on a measurement, and setting it up for one."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from openpts.cli.commands_on_demand import FirstPages
from openpts.cli.console import table_console
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.device.block_device import BlockDevice, device_below
from openpts.device.nearby_cpus import parse_cpu_list
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import OpenptsError, UsageError
from openpts.journal import Journal
from openpts.plugins import Kind, audit, load, offers
from openpts.procedures.registry import RESERVED
from openpts.programs import ProgramRunner, run_program
from openpts.runner.healing import Healing, heal
from openpts.system_files import SystemRoots, printable, read_lines
from openpts.vocabulary.document import Document, filled
from openpts.vocabulary.facts import Change, ChangeReport, Fact, Facts, Scenario
from openpts_drives.health.health import self_test_fact
from openpts_host.advice.advice import Advice, Grade
from openpts_host.advice.drive import NUMA_NODE, THREADS
from openpts_host.advice.table import ADVICE, ADVICE_OF
from openpts_host.changes import HOST_SETTING, UNTIL_ASKED, HostChanger, host_changes, is_of_a_run
from openpts_host.link_settings import link_changes, link_settings
from openpts_host.settings import host_settings

_ALLOWED: Final = "Cpus_allowed_list:"


class AuditedSetting(Struct, frozen=True, kw_only=True):
    """A setting; ``key`` is that of a run's record and of doctor.md of the manual.

    ``now`` is None if it could not be read, and ``source`` says why. ``real_world`` and ``synthetic`` are
    advice for a machine as its users have it, and for measurements of the drive alone. ``remedy`` is how it
    may be changed, or why openpts leaves it alone.
    """

    key: str
    group: str
    title: str
    now: str | None
    source: str
    real_world: str
    synthetic: str
    effect: str
    grade: Grade
    remedy: str | None
    requirements: tuple[str, ...]

    @property
    def value(self) -> str:
        """As text shows it."""
        return "not reported" if self.now is None else printable(self.now)


class ChangedSetting(Struct, frozen=True):
    """What --apply did; ``failure`` is None if it was read back as wanted."""

    key: str
    place: str
    found: str | None
    wanted: str
    failure: str | None


class RestoredSetting(Struct, frozen=True):
    """What --restore did."""

    put_back: bool
    text: str


class AuditedPlugin(Struct, frozen=True):
    """An object of a plug-in; ``failure`` is why it can't be used, None if it can."""

    plugin: str
    version: str
    kind: str
    name: str
    failure: str | None


class Audit(Document, frozen=True, kw_only=True, tag="openpts.doctor/1"):
    """The audit, what was changed before it, and what was put back.

    ``target`` is as it was named, None if only the machine was looked at. ``counts`` are by grade.
    """

    scenario: Scenario
    target: str | None
    disk: str | None
    counts: dict[Grade, int]
    settings: tuple[AuditedSetting, ...]
    changes: tuple[ChangedSetting, ...]
    restored: tuple[RestoredSetting, ...]
    plugins: tuple[AuditedPlugin, ...] = ()


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

    def audit(
        self,
        target: str | None,
        changes: Sequence[ChangeReport] = (),
        restored: Sequence[Healing] = (),
        *,
        plugins: Sequence[AuditedPlugin] = (),
    ) -> Audit:
        """What is set now, after these changes."""
        settings = self.settings()
        return Audit(
            scenario=self.scenario,
            target=target,
            disk=None if self.disk is None else self.disk.name,
            counts={grade: sum(one.grade is grade for one in settings) for grade in Grade},
            settings=settings,
            changes=tuple(filled(ChangedSetting, one, failure=one.failure or None) for one in changes),
            restored=tuple(filled(RestoredSetting, one) for one in restored),
            plugins=tuple(plugins),
        )

    def settings(self) -> tuple[AuditedSetting, ...]:
        """In the order of the table of advice; of no drive what belongs to one is left out."""
        facts = self._facts()
        changeable = {change.key for change in self._changes()}
        found = []
        for advice in ADVICE:
            if advice.key not in facts:
                continue
            fact = facts[advice.key]
            grade = advice.grade(fact.value, self.scenario)
            remedy = _remedy(advice, grade, changeable)
            more = {"now": fact.value, "source": fact.source, "effect": advice.reason, "grade": grade}
            found.append(filled(AuditedSetting, advice, **more, remedy=remedy))
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


def _remedy(advice: Advice, grade: Grade, changeable: set[str]) -> str | None:
    if grade in {Grade.GOOD, Grade.UNKNOWN}:
        return None
    if advice.key in changeable:
        return "--apply changes it"
    if advice.remedy or advice.suits is None:
        return advice.remedy or None
    return "this kernel has no setting for it"


_STYLES: Final = {Grade.BAD: "bold red", Grade.UNKNOWN: "yellow", Grade.NOTE: "cyan", Grade.GOOD: "green"}
_HEADINGS: Final = {
    Grade.BAD: "BAD: falsifies the results",
    Grade.UNKNOWN: "UNKNOWN: could not be read",
    Grade.NOTE: "NOTE: has little effect, or is for information only",
    Grade.GOOD: "GOOD",
}
_ORDER: Final = (Grade.BAD, Grade.NOTE, Grade.UNKNOWN, Grade.GOOD)
_WIDE: Final = 110
_KEPT_OF_A_PLACE: Final = 3


def audit_text(audit: Audit, width: int, *, in_full: bool) -> RenderableType:
    """All settings by grade, the worst first; the good ones in short unless ``in_full``."""
    reported = ", ".join(f"{audit.counts[grade]} {grade}" for grade in _ORDER if audit.counts[grade])
    target, scenario = audit.target, audit.scenario
    what = printable(target) if target else "this machine (name a drive to audit its link as well)"
    blocks: list[RenderableType] = [
        Text(f"{what}, for a {scenario} measurement, which tests {scenario.subject}: {reported}")
    ]
    for grade in _ORDER:
        of_grade = [setting for setting in audit.settings if setting.grade is grade]
        if not of_grade:
            continue
        blocks += [Text(), Text(_HEADINGS[grade], style=_STYLES[grade])]
        if grade is Grade.UNKNOWN or (grade is Grade.GOOD and not in_full):
            blocks += map(_short, of_grade)
        else:
            blocks += [_table(of_grade)] if width >= _WIDE else _stacked(of_grade)
    return Group(*blocks)


def _short(setting: AuditedSetting) -> RenderableType:
    """What is good with its value; what is unknown with the place that does not tell."""
    why = f" ({printable(setting.source)})" if setting.now is None else ""
    return _indented(Text(f"{setting.title}: {setting.value}{why}"))


def _table(settings: Sequence[AuditedSetting]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False, expand=True)
    table.add_column("  Setting", ratio=22)
    table.add_column("Now", ratio=24)
    table.add_column("Real-world", ratio=14)
    table.add_column("Synthetic", ratio=16)
    table.add_column("What it does, and what can be done", ratio=34)
    for one in settings:
        effect = Text(one.effect)
        if one.remedy:
            effect.append(f"; {one.remedy}", style="dim")
        texts = (Text(text) for text in (one.value, one.real_world, one.synthetic))
        table.add_row(_indented(Text(one.title)), *texts, effect)
    return table


def _stacked(settings: Iterable[AuditedSetting]) -> Iterator[RenderableType]:
    """For narrow terminals: the value behind the name, the rest below."""
    for one in settings:
        yield _indented(Text(f"{one.title}: {one.value}"))
        text = f"real-world: {one.real_world}; synthetic: {one.synthetic}\n{one.effect}"
        below = Text(f"{text}; {one.remedy}" if one.remedy else text, style="dim")
        yield Padding(below, (0, 0, 0, 6), expand=False)


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def changes_text(changes: Sequence[ChangedSetting], *, asked: bool) -> Iterator[Text]:
    """What was changed, the same change in many places once."""
    if not asked:
        return
    if not changes:
        yield Text("Nothing to change.\n")
        return
    for failed in (False, True):
        counts: Counter[tuple[str, str, str, str]] = Counter()
        places: dict[tuple[str, str, str, str], str] = {}
        for change in changes:
            if bool(change.failure) is failed:
                line = (change.key, change.found or "?", change.wanted, change.failure or "")
                counts[line] += 1
                places.setdefault(line, change.place)
        for line, count in counts.items():
            yield _change(line, count, places[line])
    yield Text("`openpts doctor --restore` restores the previous values.\n")


def _change(line: tuple[str, str, str, str], count: int, place: str) -> Text:
    key, found, wanted, failure = line
    title = ADVICE_OF[key].title if key in ADVICE_OF else key
    where = _short_place(place) if count == 1 else f"{_short_place(place)} and {count - 1} more"
    if failure:
        return Text(
            f"not set  {title}: {printable(found)}, wanted {wanted}: {printable(failure)} ({where})", "red"
        )
    return Text(f"set      {title}: {printable(found)} -> {wanted} ({where})")


def _short_place(place: str) -> str:
    """The end of a path tells enough; names of units are short."""
    return "/".join(place.rsplit("/", _KEPT_OF_A_PLACE)[1:]) or place


def _restored_text(restored: Sequence[RestoredSetting], *, asked: bool) -> Iterator[Text]:
    """What became of each entry of the journal."""
    if asked and not restored:
        yield Text("Nothing to restore.")
    for one in restored:
        yield Text(printable(one.text), style="" if one.put_back else "red")


def _audited_plugins(root: click.Command) -> tuple[AuditedPlugin, ...]:
    """What plug-ins have, all of it imported."""
    commands = root.own_commands if isinstance(root, FirstPages) else ()
    reserved = {**dict.fromkeys(Kind, ()), Kind.PROCEDURE: (RESERVED,), Kind.COMMAND: commands}
    return tuple(
        AuditedPlugin(offer.package.name, offer.package.version, offer.kind, offer.name, failure or None)
        for offer, failure in audit(reserved)
        if failure or not offer.package.is_own
    )


def _plugins_text(plugins: Sequence[AuditedPlugin]) -> Iterator[Text]:
    """What plug-ins have, and why some of it can't be used."""
    if plugins:
        yield Text("\nPLUG-INS")
    for one in plugins:
        what = f"  {one.plugin} {one.version}: {one.kind} {one.name}"
        if one.failure is None:
            yield Text(printable(what))
        else:
            yield Text(printable(f"{what}: {one.failure}"), style=_STYLES[Grade.BAD])


_PIPE_COLUMNS = 120


@click.command()
@with_options
def doctor(
    *,
    target: str | None = argument(required=False),
    scenario_word: str = option(
        "--for",
        "Judge the settings for measuring the drive alone, or a machine as its users have it.",
        click.Choice([scenario.value for scenario in Scenario]),
        default=Scenario.SYNTHETIC.value,
    ),
    to_apply: bool = flag("Change the settings that can be changed, until --restore.", name="--apply"),
    to_restore: bool = flag("Restore all settings that openpts changed.", name="--restore"),
    in_full: bool = flag("Show good settings in full as well.", name="--all"),
    of_openpts: bool = flag("Show what openpts itself lacks, and what installs it.", name="--self"),
    self_test: bool = flag("Test whether openpts measures what is known beforehand; needs no drive."),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Show which settings of this machine affect results, and those of TARGET if it is given.

    TARGET is a drive such as /dev/nvme0n1, which is only read, or file:PATH. Without --apply and --restore
    nothing is changed. The previous values are kept on disk, so that --restore also works after a crash. A
    restart of the machine restores all of them by itself.
    """
    if to_apply and to_restore:
        raise UsageError("--apply and --restore contradict each other")
    if self_test or of_openpts:
        is_alone = not (target or to_apply or to_restore)
        _show_openpts(self_test=self_test, is_alone=is_alone, as_json=as_json)
        return
    roots, journal = SystemRoots(), Journal.of_machine()
    physician = Doctor.for_target(target, Scenario(scenario_word), roots)
    restored, changes = physician.apply(journal) if to_apply else ((), ())
    if to_restore:
        restored = restore(journal, roots)
    plugins = () if to_restore else _audited_plugins(click.get_current_context().find_root().command)
    audit = physician.audit(target, changes, restored, plugins=plugins)
    failed = [one.text for one in audit.restored if not one.put_back]
    failure = OpenptsError("; ".join(failed)) if failed else None
    if as_json:
        print_document(audit, failure)
    else:
        console = table_console(pipe_columns=_PIPE_COLUMNS)
        did = (
            *_restored_text(audit.restored, asked=to_restore),
            *changes_text(audit.changes, asked=to_apply),
        )
        for line in did:
            console.print(line, soft_wrap=True)
        if not to_restore:
            console.print(audit_text(audit, console.width, in_full=in_full))
        for line in _plugins_text(audit.plugins):
            console.print(line, soft_wrap=True)
    if to_restore and os.geteuid() != 0:
        click.echo(
            "openpts: not run as root: changes made as root are not seen; run sudo openpts doctor --restore",
            err=True,
        )
    if failure is not None:
        raise failure


def _show_openpts(*, self_test: bool, is_alone: bool, as_json: bool) -> None:
    if not self_test:
        from openpts_host.cli.installation import show_installation  # noqa: PLC0415 needs metadata of packages

        show_installation(is_all=is_alone, as_json=as_json)
        return
    if not is_alone:
        raise UsageError("--self-test tests openpts itself: give it alone, or with --json")
    if not (found := offers(Kind.SELF_TEST)):
        raise OpenptsError("this installation lacks the self-test: install openpts again")
    for offer in found.values():
        load(offer)(as_json=as_json)
