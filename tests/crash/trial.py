"""A trial: a run that is killed at random points, resumed, killed again, and in the end as good as any.

What was told finished is in the record after each kill, and the record opens, makes a report and verifies. In
the end the run of a simulated drive is the one that was never disturbed; on a file, what was measured before
a cut is as it was. Nothing is left behind: no entry of the journal, no draft, no log of the database.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest
from msgspec.structs import replace

from openpts.journal import Journal
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.vocabulary.sample import StepState
from tests.crash.victim import At, Blow, Ended, Reported, openpts

RUN = "run-folder"
SIGKILL = -9
_TABLES_ONLY = ("--no-html", "--no-pdf")


@dataclass(frozen=True)
class Case:
    """A command line without its folder; on a file it ends with what ``openpts resume`` is to accept."""

    arguments: tuple[str, ...]
    accepts: tuple[str, ...] = ()

    @property
    def simulated(self) -> bool:
        return self.arguments[1].startswith("sim:")

    @property
    def run(self) -> tuple[str, ...]:
        return ("run", *self.arguments, "--seed", "5", "--no-report", "--out", RUN)

    @property
    def resume(self) -> tuple[str, ...]:
        return ("resume", RUN, *self.accepts, "--no-report")


def sim(test: str, *options: str, drive: str = "enterprise-tlc", scale: str = "0.004") -> Case:
    return Case((test, f"sim:{drive}?capacity=4GB", "--time-scale", scale, *options))


def on_a_file(test: str, *options: str, accepts: tuple[str, ...] = ()) -> Case:
    few = ("--time-scale", "0.0004", "--tc", "1", "--qd", "2")
    return Case((test, "file:scratch?size=16MiB", *few, *options), accepts)


def captured_on_a_file(test: str) -> Case:
    demands = ("--tcs", "2,1", "--qds", "2,1", "--max-rounds", "2", "--time-scale", "1/600")
    short = (
        *("--tracking-seconds", "0.2", "--prewrite-shortest-seconds", "0.1"),
        *("--prewrite-longest-seconds", "0.2", "--histogram-prewrite-seconds", "0.2"),
        *("--histogram-seconds", "0.5"),
    )
    return Case((test, "file:scratch?size=64MiB", *demands, *short), _GO_ON)


_TWO = ("--max-rounds", "2")
_GO_ON = ("--accept-interruption",)
CASES = (
    sim("iops", *_TWO),
    sim("tp", *_TWO),
    sim("lat", *_TWO),
    sim("wsat"),
    sim("hir", scale="0.012"),
    sim("xsr"),
    sim("cbw", *_TWO),
    sim("dirth", *_TWO),
    sim("fill"),
    sim("sustained", scale="0.012"),
    sim("entropy", drive="sata-reduction"),
    sim("benchmarks", scale="0.012"),
    sim("precon"),
    sim("thermal"),
    Case(("lifetime", "sim:mlc?capacity=4GB", "--cycles", "6")),
)
FILE_CASES = (
    on_a_file("lat", "--max-rounds", "3"),
    on_a_file("lat", "--max-rounds", "3", accepts=_GO_ON),
    on_a_file("tp", *_TWO, accepts=_GO_ON),
    on_a_file("iops", "--max-rounds", "1", accepts=_GO_ON),
    captured_on_a_file("dirth"),
    captured_on_a_file("cbw"),
    on_a_file("wsat"),
    on_a_file("iops", "--max-rounds", "1"),
    on_a_file("fill"),
    Case(("lifetime", "file:scratch?size=16MiB", "--cycles", "4")),
)


def new_place() -> Path:
    """A new working directory, with the folders that a victim has."""
    place = Path(mkdtemp(prefix="crash-", dir=_root()))
    (place / "tmp").mkdir()
    (place / "state").mkdir()
    return place


@cache
def _root() -> Path:
    return Path(mkdtemp(prefix="openpts-crash-"))


@dataclass(frozen=True)
class Undisturbed:
    """A run to its end, what it took to get there, and what a report of it took."""

    run: Run
    ran: Ended
    reported: Ended


@cache
def undisturbed(case: Case) -> Undisturbed:
    place = new_place()
    ran = openpts(*case.run, cwd=place)
    assert ran.code == 0, ran.output
    reported = openpts("report", RUN, cwd=place)
    assert reported.code == 0, reported.output
    return Undisturbed(read_run(place / RUN), ran, reported)


def drawn(random: Random, like: Ended) -> Blow:
    """A point of a process that would go like this one, of each kind as often."""
    tree = random.random() < 0.5
    kinds = [kind for kind in At if like.points[kind]]
    if not kinds or random.random() < 0.3:
        after_s = math.exp(random.uniform(math.log(0.01), math.log(max(0.02, like.lasted_s))))
        return Blow(after_s=after_s, whole_tree=tree)
    kind = random.choice(kinds)
    last = like.points[kind]
    number = (
        random.randint(1, last)
        if random.random() < 0.5
        else round(math.exp(random.uniform(0, math.log(last))))
    )
    return Blow(at=kind, number=number, whole_tree=tree)


@dataclass
class Trial:
    """One run in a folder of its own."""

    case: Case
    random: Random
    place: Path = field(default_factory=new_place)
    kills: int = 0
    told: list[Reported] = field(default_factory=list)
    latest: tuple[Reported, ...] = ()
    was_complete: bool = False
    """It was killed when all but the closing of its database was done: the log stays, and is read with it."""

    @property
    def folder(self) -> Path:
        return self.place / RUN

    def go(self, most_kills: int, *, reports: bool) -> int:
        """Up to so many kills of the run and of those that resume it; then it is resumed to its end."""
        command = self.case.run
        before: set[Reported] = set()
        for _ in range(self.random.randint(1, most_kills)):
            blow = drawn(self.random, undisturbed(self.case).ran)
            if not self._killed(command, blow):
                break
            stand = self._has_kept_what_was_told(before)
            if self.folder.exists() and self._has_begun():
                self._opens(stand)
                command, before = self.case.resume, stand
            else:
                self._starts_over()
        else:
            self._to_its_end(command)
        self._is_as_good_as_any(before)
        if reports:
            self._report_is_old_or_whole()
        return self.kills

    def has_outlived(self, told: Sequence[Reported], latest: Sequence[Reported]) -> bool:
        """Whether the folder that a power cut left is a run's; then it has what was told, and opens."""
        self.told, self.latest, self.kills = list(told), tuple(latest), 1
        stand = self._has_kept_what_was_told(set())
        if not (self.folder.exists() and self._has_begun()):
            return False
        self._opens(stand)
        return True

    def goes_on(self) -> None:
        """To the end, which is that of any other run."""
        self._to_its_end(self.case.resume)
        self._is_as_good_as_any(set())

    def _killed(self, command: tuple[str, ...], blow: Blow) -> bool:
        ended = openpts(*command, cwd=self.place, blow=blow)
        self.told += ended.told
        self.latest = ended.told
        if ended.code == SIGKILL:
            self.kills += 1
            return True
        self._has_ended(ended, command, blow)
        return False

    def _to_its_end(self, command: tuple[str, ...]) -> None:
        ended = openpts(*command, cwd=self.place)
        self.told += ended.told
        self._has_ended(ended, command)

    def _has_ended(self, ended: Ended, *doing: object) -> None:
        self.was_complete = "no step is left to measure" in ended.output
        assert ended.code == 0, (*doing, ended.output)

    def _has_begun(self) -> bool:
        """A folder without its manifest belongs to a run that had told of no step, nor touched its drive."""
        ended = openpts("report", RUN, "--no-csv", *_TABLES_ONLY, cwd=self.place)
        if ended.code == 0:
            return True
        assert not self.told, ended.output
        assert ended.code == 8, ended.output
        assert "has just begun" in ended.output or "no run.db" in ended.output, ended.output
        return False

    def _starts_over(self) -> None:
        if self.folder.exists():
            for path in self.folder.iterdir():
                path.unlink() if path.is_file() else path.rmdir()

    def _has_kept_what_was_told(self, before: set[Reported]) -> set[Reported]:
        """All that was told is there and equal; what stands, and stood before, is read by ``read_run``."""
        if not self.told and not (self.folder / DATABASE_NAME).exists():
            return set()
        stored = set(stored_steps(self.folder))
        lost = [told for told in self.told if (told.cycle, told.phase, told.started_ns) not in stored]
        assert not lost, f"told and lost: {lost}"
        if not stored:
            return set()
        run = read_run(self.folder)
        stand = {Reported.of(step.place, step.sample) for step in run.steps}
        assert set(self.latest) <= stand
        if not self.case.simulated:
            self._captures_are_whole(run)
        return stand

    def _opens(self, stand: set[Reported]) -> None:
        assert openpts("report", RUN, *_TABLES_ONLY, cwd=self.place).code == 0
        verified = openpts("verify", RUN, cwd=self.place)
        assert verified.code == 0, verified.output
        assert {Reported.of(step.place, step.sample) for step in read_run(self.folder).steps} == stand

    def _is_as_good_as_any(self, before: set[Reported]) -> None:
        run, whole = read_run(self.folder), undisturbed(self.case).run
        assert run.manifest.state is RunState.COMPLETE
        assert len(run.manifest.attempts) <= 1 + self.kills
        self._captures_are_whole(run)
        if self.case.simulated:
            assert figures_of(run) == figures_of(whole)
            assert set(self.told) <= {Reported.of(step.place, step.sample) for step in run.steps}
        else:
            self._stands(run, before)
        self._nothing_is_left()

    def _captures_are_whole(self, run: Run) -> None:
        """Every single I/O of the steps that stand is in a file; a simulated drive repeats them."""
        for step in run.steps:
            if step.sample.step.capture and step.sample.state is StepState.COMPLETE:
                folder, number = run.capture_of(step)
                assert captured_ios(self.folder / folder)[number] == step.sample.ios, step.place

    def _stands(self, run: Run, before: set[Reported]) -> None:
        """Steps of the record before the last kill either stand as they were or were measured again."""
        stored = set(stored_steps(self.folder))
        assert all((told.cycle, told.phase, told.started_ns) in stored for told in before)
        ends = [step.sample.started_ns + step.sample.elapsed_ns for step in run.steps]
        assert ends == sorted(ends)
        went_on_inside = any(
            attempt.went_on_at and not attempt.went_on_at.startswith("the purge")
            for attempt in run.manifest.attempts
        )
        entered = any(entry.used.startswith("interrupted for") for entry in run.ledger)
        assert not entered or (went_on_inside and self.case.accepts)

    def _nothing_is_left(self) -> None:
        assert Journal(self.place / "state" / "journal").entries() == ()
        for folder in (self.place / "tmp", self.place / "state" / "journal"):
            assert not folder.exists() or not [path for path in folder.iterdir() if path.suffix != ".lock"]
        assert self.was_complete or not list(self.folder.glob(f"{DATABASE_NAME}-*"))
        ended = openpts("report", RUN, *_TABLES_ONLY, cwd=self.place)
        assert ended.code == 0, ended.output
        assert openpts("verify", RUN, cwd=self.place).code == 0
        assert not list(self.place.rglob(".openpts-*")), "drafts of files are left"

    def _report_is_old_or_whole(self) -> None:
        """A report that is killed leaves the data of the old one, which is equal, and is made again.

        Its files get their names one behind the other: in between, ``verify`` names what does not belong.
        """
        blow = drawn(self.random, undisturbed(self.case).reported)
        if openpts("report", RUN, cwd=self.place, blow=blow).code == SIGKILL:
            self.kills += 1
            assert not [*(self.place / "tmp").iterdir()], "a killed report leaves temporary files"
        json = (self.folder / "report.json").read_bytes()
        verified = openpts("verify", RUN, cwd=self.place)
        assert verified.code == 0 or "SHA256SUMS" in verified.output, verified.output
        assert openpts("report", RUN, cwd=self.place).code == 0
        assert (self.folder / "report.json").read_bytes() == json
        assert openpts("verify", RUN, cwd=self.place).code == 0
        assert not list(self.folder.rglob(".openpts-*")), "drafts of files are left"


def captured_ios(folder: Path) -> Counter[int]:
    """How many single I/Os of each step are in the complete files."""
    parquet = pytest.importorskip("pyarrow.parquet")
    steps = (parquet.read_table(path, columns=["step"])["step"] for path in folder.glob("*.parquet"))
    return Counter(number for column in steps for number in column.to_pylist())


def stored_steps(folder: Path) -> Iterable[tuple[int, str, int]]:
    """All steps of a record, also those that were set aside."""
    database = folder / DATABASE_NAME
    mode = "mode=ro" if Path(f"{database}-wal").exists() else "immutable=1"
    with closing(sqlite3.connect(f"file:{database}?{mode}", uri=True)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'step'").fetchone():
            return []
        return connection.execute("SELECT cycle, part, started_ns FROM step").fetchall()


def figures_of(run: Run) -> tuple[object, ...]:
    """All that a run of a simulated drive measured and found."""
    manifest = run.manifest
    steps = [
        (Reported.of(step.place, step.sample), step.sample.state, step.sample.streams) for step in run.steps
    ]
    purges = [replace(purge, started_at="") for purge in manifest.purges]
    found = (purges, manifest.write_caches, manifest.cycles)
    return steps, set(run.ledger), found, len(run.with_gaps)
