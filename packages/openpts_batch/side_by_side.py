"""Runs on several drives of this host at once, each a process of its own, so that none can end another.

What a run does is said in its events, which are read here; its log is in a file beside its folder. Nothing
of a batch is between a run and its drive: guard, claim, record and the drive's lock are the run's own.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openpts.device.nearby_cpus import processors_by_node
from openpts.errors import OpenptsError, RecordError
from openpts.journal import Journal
from openpts.ownership import new_run_id
from openpts.record.batch import DONE, Batch, BatchEntry, Neighbor, folder_word
from openpts.record.manifest import RunState
from openpts.record.reader import has_begun, read_manifest
from openpts.run_folder_files import open_file, open_to_append
from openpts.runner.event_lines import ProgramEnded, event_of
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots, printable
from openpts.vocabulary.facts import Scenario
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.chosen_drives import LocatedDrive, limits_together, located
from openpts_batch.executor import EntryOutput, Executor, now
from openpts_host.changes import host_changes, tuned_host
from openpts_host.host_capacity import memory_for_batch
from openpts_sim.simulated_target import names_simulated


class ProcessorShares(Struct):
    """For each node of the host the shares of the drives that run there at once, as long as they run.

    All drives of a batch have equally many processors, or they could not be compared; what is left over is
    for everything else on the host. ``nodes`` has the node of each drive that gets processors: one of which
    none is known gets that with the fewest drives.
    """

    nodes: dict[int, int]
    shares: dict[int, tuple[tuple[int, ...], ...]]
    _taken: dict[int, int] = msgspec.field(default_factory=dict)

    @classmethod
    def of(
        cls, known: Mapping[int, int | None], at_most: int | None, allowed: set[int], roots: SystemRoots
    ) -> "ProcessorShares":
        """The shares of drives on these nodes (None: not known) on the processors that are allowed."""
        cpus_of = processors_by_node(allowed, roots)
        count = Counter(node for node in known.values() if node in cpus_of)
        nodes = {}
        for drive, known_node in known.items():
            node = known_node
            if node not in cpus_of:
                node = min(cpus_of, key=lambda one: (count[one] / len(cpus_of[one]), one))
                count[node] += 1
            nodes[drive] = node
        at_once = {node: min(drives, at_most or drives) for node, drives in count.items()}
        size = max(1, min((len(cpus_of[node]) // lanes for node, lanes in at_once.items()), default=1))
        return cls(nodes, {node: _shares(cpus_of[node], lanes, size) for node, lanes in at_once.items()})

    def take(self, drive: int) -> tuple[int, ...] | None:
        """The share of its node that the fewest use, for a drive that begins; None if it gets none."""
        if (node := self.nodes.get(drive)) is None:
            return None
        users = Counter(lane for other, lane in self._taken.items() if self.nodes[other] == node)
        lane = self._taken[drive] = min(range(len(self.shares[node])), key=lambda one: (users[one], one))
        return self.shares[node][lane]

    def give_back(self, drive: int) -> None:
        """A drive has ended."""
        self._taken.pop(drive, None)

    def words(self) -> list[str]:
        """What each drive gets, a line for each node."""
        lines = []
        for node, shares in sorted(self.shares.items()):
            drives = list(self.nodes.values()).count(node)
            cpus = sorted({cpu for share in shares for cpu in share})
            which = f"node {node}: processors {cpu_list(cpus)}"
            if len(shares) > len(cpus):
                lines.append(
                    f"{which} for {len(shares)} drives at once: up to {-(-len(shares) // len(cpus))} drives "
                    "share one, and the host may be what is measured"
                )
            else:
                at_once = (
                    f"each of {len(shares)} drives at once" if len(shares) > 1 else "one drive at a time"
                )
                each = f"{len(shares[0])} for {at_once}"
                lines.append(f"{which}, {each}" + (f", {drives} in all" if drives > len(shares) else ""))
        return lines


def _shares(cpus: tuple[int, ...], lanes: int, size: int) -> tuple[tuple[int, ...], ...]:
    if lanes > len(cpus):
        return tuple((cpus[lane % len(cpus)],) for lane in range(lanes))
    return tuple(cpus[lane * size : (lane + 1) * size] for lane in range(lanes))


def cpu_list(cpus: Sequence[int]) -> str:
    """Processors in the kernel's way of writing, such as ``0-3,8``."""
    ordered = sorted(cpus)
    ends = [at for at, (one, following) in enumerate(pairwise(ordered)) if following != one + 1]
    firsts, lasts = [0, *(end + 1 for end in ends)], [*ends, len(ordered) - 1]
    runs = [(ordered[first], ordered[last]) for first, last in zip(firsts, lasts, strict=True)]
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


_NUMBER: Final = re.compile(r"(.*?)0*([0-9]+)")
_NOT_IN_SPACE: Final = ("-", ".", ":")
"""Before the number of a port or a PCI function in the name of a path."""


def are_beside(one: str | None, other: str | None) -> bool:
    """Whether slots are numbered one behind the other, in the same enclosure; paths are not."""
    first, second = (_NUMBER.fullmatch(text or "") for text in (one, other))
    if first is None or second is None or first[1] != second[1] or first[1].endswith(_NOT_IN_SPACE):
        return False
    return abs(int(first[2]) - int(second[2])) == 1


def with_loaded_neighbors(batch: Batch, ended: int) -> Batch:
    """The batch after an entry's run has ended: it and those beside it have each other's time under load."""
    entries = list(batch.entries)
    for index, entry in enumerate(entries):
        if index != ended and are_beside(entry.slot, entries[ended].slot):
            for one, other in ((index, ended), (ended, index)):
                entries[one] = _beside(entries[one], entries[other])
    return replace(batch, entries=tuple(entries))


def _beside(entry: BatchEntry, other: BatchEntry) -> BatchEntry:
    """The entry with the time that both were under load; noted when the second of them has ended."""
    if None in (entry.started_at, entry.ended_at, other.started_at, other.ended_at):
        return entry
    since = max(str(entry.started_at), str(other.started_at))
    until = min(str(entry.ended_at), str(other.ended_at))
    if since >= until:
        return entry
    neighbor = Neighbor(slot=str(other.slot), run_id=other.request.run_id, since=since, until=until)
    return replace(entry, neighbors=(*entry.neighbors, neighbor))


def run_words(
    request: RunRequest,
    drive: LocatedDrive,
    run_folder: Path,
    pinned: Sequence[str],
    resume_words: Sequence[str],
) -> list[str]:
    """Arguments of a run that begins, or of one that continues where the folder has a record.

    ``pinned`` are options that only a new run has, ``resume_words`` those that only a resumed one has.
    """
    ours = ["--events", "-", "--no-report"]
    if drive.device is not None and request.serial and "--confirm-serial" not in request.test_words:
        ours += ["--confirm-serial", request.serial]
    if has_record(run_folder):
        own = [*ours, *request.consents]
        return ["resume", str(run_folder), "--target", drive.target, *own, *resume_words]
    return request.words_on(drive.target, run_folder, [*ours, *pinned])


def has_record(run_folder: Path) -> bool:
    """Whether a run in this folder has a record that this openpts can read."""
    try:
        return has_begun(run_folder)
    except RecordError:
        return False


_POLL_S: Final = 0.5
_TIMEOUT_S: Final = 5.0
_LAST_WORDS_BYTES: Final = 4096
_INTERRUPTED: Final = 130
_INTERRUPTS_PASSED_ON: Final = 2


def new_batch(
    requests: Sequence[RunRequest],
    *,
    at_most: int | None = None,
    stagger_s: float = 0.0,
    command_line: Sequence[str] = (),
) -> Batch:
    """A batch that has not begun, with a folder for each request by its number and its drive."""
    return Batch(
        batch_id=new_run_id(),
        command_line=tuple(command_line),
        started_at=now("seconds"),
        at_most=at_most,
        stagger_s=stagger_s,
        entries=tuple(
            BatchEntry(request=request, folder=_folder_name(number, len(requests), request))
            for number, request in enumerate(requests, start=1)
        ),
    )


class _Process(Struct):
    """A run in progress: its process, and the thread that reads its lines."""

    popen: subprocess.Popen[bytes]
    reader: Thread
    error: str | None = None


@dataclass(kw_only=True)
class SideBySide(Executor):
    """Runs what is waiting in a process for each drive, all at once or so many as the batch says.

    ``report`` makes reports when no drive is under load any more: one takes a processor for seconds.
    ``resume_words`` are options of runs that have a record and continue, ``output_words`` those of each
    run for what other programs read of it. The first Ctrl-C stops all runs in order, the second interrupts
    each, as it does a single run; a third leaves them to the kernel, which ends them with this process.
    ``tune``: the host is set up for the scenario before the first run and put back behind the last; runs that
    ask for the same find it made. ``shares`` are there once the drives were located.
    """

    resume_words: tuple[str, ...] = ()
    output_words: Callable[[BatchEntry], Sequence[str]] = lambda _: ()
    tune: Scenario | None = None
    stopped: bool = False
    shares: ProcessorShares | None = None
    _drives: dict[int, LocatedDrive] = field(default_factory=dict)
    _running: dict[int, _Process] = field(default_factory=dict)
    _output: SimpleQueue[tuple[int, bytes]] = field(default_factory=SimpleQueue)
    _next_start_s: float = 0.0

    def _carry_out(self) -> None:
        self.locate(measured=True)
        try:
            with self._tuned():
                self._run_all()
            self._report_all()
        finally:
            self._end_all()

    def _tuned(self) -> AbstractContextManager[object]:
        if self.tune is None:
            return nullcontext()
        changes = host_changes(self.roots, self.tune, lasting=False)
        return tuned_host(changes, self.tune, self.roots, Journal.of_machine())

    def locate(self, *, measured: bool) -> None:
        """Find the drive of each run that waits, and share the processors out among them, once.

        ``measured``: what the memory moves is measured first, which loads the host for some 0.2 s.
        """
        if self.shares is not None:
            return
        for index, entry in self._waiting():
            try:
                self._drives[index] = located(entry.request, self.roots)
            except OpenptsError as error:
                self._change(index, state=RunState.REFUSED, exit_code=error.exit_code, reason=str(error))
        nodes = {index: drive.numa_node for index, drive in self._drives.items() if self._needs_cpus(index)}
        cpus = os.sched_getaffinity(0)
        self.shares = ProcessorShares.of(nodes, self.batch.at_most, cpus, self.roots)
        at_once = list(self._drives.values())[: self.batch.at_most]
        is_real = any(not names_simulated(drive.target) for drive in at_once)
        memory = memory_for_batch(self.batch.batch_id, self.roots) if measured and is_real else None
        limits = limits_together(at_once, len(cpus), self.roots, memory)
        self.batch = replace(self.batch, host_limits=limits, memory=memory)

    def _waiting(self) -> list[tuple[int, BatchEntry]]:
        return [
            (index, entry)
            for index, entry in enumerate(self.batch.entries)
            if entry.state is RunState.WAITING
        ]

    def _run_all(self) -> None:
        passed_on = 0
        with StopSignals(most=_INTERRUPTS_PASSED_ON) as signals:
            while self._running or (self._waiting() and not self.stopped):
                self.stopped = signals.wished
                if passed_on < signals.noted:
                    passed_on += 1
                    for process in self._running.values():
                        process.popen.send_signal(signal.SIGINT)
                if not self.stopped:
                    self._start_due()
                self._wait()

    def _start_due(self) -> None:
        """Start what may start now: one run, if starts are staggered."""
        for index, entry in self._waiting():
            if len(self._running) >= (self.batch.at_most or len(self.batch.entries)):
                return
            if time.monotonic() < self._next_start_s:
                return
            if self._is_busy(index):
                continue
            try:
                self._start(index, entry)
            except OSError as error:  # no log on a full disk, no process: the others continue
                self._set(index, state=RunState.REFUSED, reason=f"can't be started: {error.strerror}")
            self._next_start_s = time.monotonic() + self.batch.stagger_s

    def _is_busy(self, index: int) -> bool:
        names = set(self._drives[index].names)
        return any(names.intersection(self._drives[other].names) for other in self._running)

    def _start(self, index: int, entry: BatchEntry) -> None:
        drive, run_folder = self._drives[index], self.folder / entry.folder
        shared = None if self.shares is None else self.shares.take(index)
        cpus = None if shared is None else cpu_list(shared)
        pinned = () if cpus is None else ("--cpus", cpus)
        outputs = self.output_words(entry)
        new, resumed = (*outputs, *pinned), (*outputs, *self.resume_words)
        arguments = run_words(entry.request, drive, run_folder, new, resumed)
        log = open_to_append(self.folder, f"{entry.folder}.log")
        try:
            popen = subprocess.Popen(
                [sys.executable, "-m", "openpts_batch.drive_process", str(os.getpid()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                process_group=0,  # Ctrl-C is for the batch, which tells its runs in order
            )
        finally:
            os.close(log)
        reader = Thread(target=self._listen, args=(index, popen.stdout), name="batch", daemon=True)
        reader.start()
        self._running[index] = _Process(popen, reader)
        self._set(
            index,
            state=RunState.RUNNING,
            slot=drive.slot,
            numa_node=drive.numa_node,
            cpus=cpus,
            started_at=now(),
            ended_at=None,
            exit_code=None,
            reason=None,
        )

    def _needs_cpus(self, index: int) -> bool:
        """Whether its processors are for the batch to choose; a simulated drive has no threads for I/O."""
        arguments = self.batch.entries[index].request.test_words
        chosen = any(word == "--cpus" or word.startswith("--cpus=") for word in arguments)
        return not chosen and not names_simulated(self._drives[index].target)

    def _listen(self, index: int, stdout: IO[bytes]) -> None:
        with stdout:
            for raw in stdout:
                self._output.put((index, raw))
        self._output.put((index, b""))

    def _wait(self) -> None:
        """Wait until a run says something or a start is due, and take note of runs that have ended."""
        due_s = self._next_start_s - time.monotonic()
        self._take_in(min(_POLL_S, due_s) if due_s > 0 else _POLL_S)
        for index, process in list(self._running.items()):
            if process.popen.poll() is not None:
                process.reader.join(_TIMEOUT_S)  # unless a program that the run has left holds the pipe
                self._take_in(0.0)
                self._end(index)

    def _take_in(self, timeout_s: float) -> None:
        """All lines that are there, and the first that comes in this time."""
        with suppress(Empty):
            while True:
                index, raw = self._output.get(timeout=timeout_s)
                timeout_s = 0.0
                if (line := event_of(raw)) is not None:
                    if isinstance(line, ProgramEnded) and index in self._running:
                        self._running[index].error = line.error
                    self.listener(EntryOutput(index, line))

    def _end(self, index: int) -> None:
        """The process has ended: say what became of the run."""
        process = self._running.pop(index)
        if self.shares is not None:
            self.shares.give_back(index)
        outcome = self._outcome(self.batch.entries[index], process.popen.wait(), process.error)
        self._change(index, ended_at=now())
        self.batch = with_loaded_neighbors(self.batch, index)
        self._set(index, **outcome)

    def _outcome(self, entry: BatchEntry, code: int, error: str | None) -> Mapping[str, object]:
        run_folder = self.folder / entry.folder
        if code == -signal.SIGINT:  # passed on before the run could take it in
            error = "stopped by the operator"
        elif code < 0:
            error = f"its process was ended by {signal.Signals(-code).name}"
        elif code and error is None:
            error = _last_words(self.folder, f"{entry.folder}.log") or f"its process ended with {code}"
        state = outcome_of(run_folder, code)
        return {"state": state, "exit_code": code, "reason": error}

    def _end_all(self) -> None:
        """Where the batch itself fails: no run continues without it."""
        for process in self._running.values():
            process.popen.send_signal(signal.SIGTERM)
        deadline_s = time.monotonic() + _TIMEOUT_S
        for index, process in list(self._running.items()):
            try:
                process.popen.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue
            self._set(index, ended_at=now(), **self._outcome(self.batch.entries[index], _INTERRUPTED, None))

    def _report_all(self) -> None:
        for index, entry in enumerate(self.batch.entries):
            if not entry.reports and has_record(self.folder / entry.folder):
                self._report(index)


def outcome_of(run_folder: Path, code: int) -> RunState:
    """What became of a run whose process has ended with this code, negative for a signal."""
    if not has_record(run_folder):
        return RunState.INTERRUPTED if code == _INTERRUPTED or code < 0 else RunState.REFUSED
    state = read_manifest(run_folder).state
    return state if state in DONE else RunState.INTERRUPTED


def _last_words(folder: Path, name: str) -> str:
    with open_file(folder, name) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_WORDS_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    return printable(next((line for line in reversed(lines) if line.strip()), "")).removeprefix("openpts: ")


def _folder_name(number: int, count: int, request: RunRequest) -> str:
    target = (request.target or request.slot or "").removeprefix("sim:").removeprefix("file:")
    name = request.serial or Path(target.rpartition("?")[0] or target).stem
    return folder_word(f"{number:0{len(str(count))}}-{name}")
