"""Random faults in a cluster that is at work; what must hold is checked from outside.

    python -m tests.fleet.faults NUMBER [SEED]

Each slot has an operator, who submits runs for its drive, asks where they stand, submits again what the
scheduler has lost, resumes or gives up what was interrupted, and cancels what hangs. Faults come meanwhile,
on any host. At no time has a drive two writers, or one for another drive; each step that a run told finished
is in its record; and each run has a record that a report can be made of, or a reason why not.
"""

import json
import queue
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from openpts.errors import OpenptsError
from openpts.ownership import new_run_id
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.vocabulary.run_request import RunRequest
from openpts_many.fleet.observation import Observation
from tests.fleet.client import Answer, Call
from tests.fleet.cluster import SLOTS, Cluster, Machine, slurm_cluster
from tests.fleet.watch import Watch
from tests.support.processes import until

TEST: Final = ("wsat", "--time-scale", "0.0005", "--tc", "1", "--qd", "1", "--telemetry-period", "off")
_ENDED: Final = {RunState.COMPLETE, RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED}
_MEAN_GAP_S: Final = 2.0
_MOST_IDLE_S: Final = 15.0
_HANGS_S: Final = 60.0
_GIVEN_UP_S: Final = 180.0
_GIVEN_UP_AT_THE_END_S: Final = 30.0
_TOO_LONG_S: Final = 900.0
_LONG_CUT_S: Final = 90.0


class Client:
    """The backend, called in a process on the head."""

    def __init__(self, cluster: Cluster) -> None:
        conf = f"SLURM_CONF={cluster.folder}/slurm.conf"
        paths = f"PYTHONPATH={':'.join(filter(None, sys.path))}"
        words = [*cluster.head.enter, "env", conf, paths, sys.executable, "-m", "tests.fleet.client"]
        self._process = subprocess.Popen(
            [*words, str(cluster.fleet_file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._turn = threading.Lock()
        self._answers: dict[int, queue.Queue[Answer]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = msgspec.json.decode(line, type=Answer)
            self._answers.pop(answer.number).put(answer)

    def call(
        self, verb: str, *, run_id: str = "", request: RunRequest | None = None, **options: bool
    ) -> Answer:
        answers: queue.Queue[Answer] = queue.Queue()
        assert self._process.stdin is not None
        with self._turn:
            number = max(self._answers, default=0) + 1
            self._answers[number] = answers
            call = Call(number, verb, run_id, request, options)
            self._process.stdin.write(msgspec.json.encode(call) + b"\n")
            self._process.stdin.flush()
        return answers.get(timeout=300)

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass
class Outcome:
    """What came of the trial: ``wrong`` must be empty."""

    faults: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    writers: int = 0
    steps: int = 0
    seconds: float = 0.0


@dataclass
class Trial:
    cluster: Cluster
    client: Client
    random: Random
    outcome: Outcome = field(default_factory=Outcome)
    ends: threading.Event = field(default_factory=threading.Event)
    hands: dict[str, Any] = field(default_factory=dict)

    def go(self, number: int) -> Outcome:
        began_s = time.monotonic()
        operators = [
            threading.Thread(target=self.operate, args=[host, slot, Random(self.random.random())])
            for host in self.cluster.hosts.values()
            for slot in SLOTS
        ]
        with Watch(self.cluster) as watch:
            for operator in operators:
                operator.start()
            self._guarded(lambda: self.strike(number))
            self.ends.set()
            self.heal()
            self.return_hosts()
            for operator in operators:
                operator.join(_TOO_LONG_S)
                if operator.is_alive():
                    self.outcome.wrong.append("an operator never came to an end of its run")
        self.outcome.wrong += watch.faults
        self.outcome.writers = len(watch.seen)
        self.outcome.seconds = time.monotonic() - began_s
        return self.outcome

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 it is a result
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.outcome.wrong.append(f"the trial itself failed: {error!r} in {where}")
            self.ends.set()

    def hand(self, machine: Machine) -> Any:
        """One at a time does something to a machine."""
        return self.hands.setdefault(machine.name, threading.RLock())

    # The operators

    def operate(self, host: Machine, slot: str, random: Random) -> None:
        self._guarded(lambda: self._operate(host, slot, random))

    def _operate(self, host: Machine, slot: str, random: Random) -> None:
        while not self.ends.is_set():
            drive = host.in_slot(slot)
            if drive is None:
                time.sleep(0.2)
                continue
            request = RunRequest(
                run_id=new_run_id(), test_words=TEST, slot=slot, serial=drive.serial, host=host.name
            )
            found = self.carried_out(request, random)
            if found.stage is RunState.INTERRUPTED and random.random() < 0.5:
                self.outcome.again["resumed"] += 1
                found = self.carried_out(request, random, again=True)
            self.outcome.stages[found.stage] += 1
            self.check(host, request.run_id, found)

    def carried_out(self, request: RunRequest, random: Random, *, again: bool = False) -> Observation:
        """Until the host says how it ended; Slurm's own word for an end is not enough here."""
        run_id, began_s = request.run_id, time.monotonic()
        self.client.call("submit", request=request, again=again)
        if random.random() < 0.1:  # a scheduler, or an operator, that is not sure
            self.outcome.again["submitted twice"] += 1
            self.client.call("submit", request=request)
        cancelled = ask = False
        while True:
            waited_s = time.monotonic() - began_s
            hangs = waited_s > _HANGS_S
            found = self.client.call("observe", run_id=run_id, ask_host=ask or hangs).observed
            is_over = found is not None and found.stage in _ENDED
            if found is not None and is_over and found.is_certain:
                return found
            ask = is_over or random.random() < 0.1
            if found is not None and found.stage is RunState.UNKNOWN:
                self.outcome.again["submitted again"] += 1
                self.client.call("submit", request=request, again=again)
            if waited_s > (_GIVEN_UP_AT_THE_END_S if self.ends.is_set() else _GIVEN_UP_S) and not cancelled:
                self.outcome.again["cancelled"] += 1
                cancelled = not self.client.call("cancel", run_id=run_id).error
            if waited_s > _TOO_LONG_S:
                self.outcome.wrong.append(f"run {run_id} never ended: {found}")
                return found or Observation(run_id, RunState.UNKNOWN, None)
            time.sleep(1.0)

    def check(self, host: Machine, run_id: str, found: Observation) -> None:
        folder = host.folder / "runs" / run_id
        told = list(told_steps(host.folder / "runs" / f"{run_id}.events.jsonl"))
        if told:
            stored = Counter(stored_steps(folder))
            lost = Counter(told) - stored
            self.outcome.steps += len(told)
            if lost:
                self.outcome.wrong.append(f"run {run_id} told of steps that its record lacks: {lost}")
        if found.stage is RunState.COMPLETE or told:
            try:
                run = read_run(folder)
                if found.stage is RunState.COMPLETE and not run.steps:
                    self.outcome.wrong.append(f"run {run_id} is complete without a step")
            except OpenptsError as error:
                self.outcome.wrong.append(f"the record of {run_id} can't be read: {error}")
        if found.stage is not RunState.COMPLETE and not found.reason:
            self.outcome.wrong.append(f"run {run_id} is {found.stage} without a reason")

    # The faults

    def strike(self, number: int) -> None:
        kinds = list(FAULTS)
        for at in range(number):
            while not self.struck(self.random.choice(kinds)):
                pass
            if at % 50 == 49:
                sys.stderr.write(
                    f"{at + 1} faults, runs {dict(self.outcome.stages)}, wrong {self.outcome.wrong}\n"
                )
            if self.ends.wait(self.random.expovariate(1 / _MEAN_GAP_S)):
                return
            if at % 10 == 9:
                self.return_hosts()
            with suppress(TimeoutError):
                until(self.is_at_work, "a run", _MOST_IDLE_S)

    def return_hosts(self) -> None:
        """A slurmctld that has lost jobs gives their numbers away again; hosts that have them drain."""
        drained = self.cluster.slurm("sinfo", "-h", "-N", "-t", "drain,down", "-o", "%N", check=False).split()
        for name in drained:
            self.cluster.slurm("scontrol", "update", f"nodename={name}", "state=resume", check=False)
            self.outcome.again["hosts returned"] += 1

    def is_at_work(self) -> bool:
        """Whether any run is carried out; faults of a cluster without one would show little."""
        return any(host.first is not None and host.pids("python") for host in self.cluster.hosts.values())

    def struck(self, kind: str) -> bool:
        """Whether there was something to strike."""
        host = self.random.choice(list(self.cluster.hosts.values()))
        with self.hand(host):
            there_was = FAULTS[kind](self, host)
        self.outcome.faults[kind] += there_was
        return there_was

    def later(self, after_s: float, work: Callable[[], object]) -> None:
        """What is done about a fault, while others come."""

        def wait() -> None:
            self.ends.wait(after_s)
            self._guarded(work)

        threading.Thread(target=wait, daemon=True).start()

    def kill_daemon(self, machine: Machine, daemon: str) -> bool:
        killed = machine.kill(daemon)
        self.later(self.random.uniform(0, 3), lambda: self.restart(machine, daemon))
        return killed

    def restart(self, machine: Machine, daemon: str) -> None:
        with self.hand(machine), suppress(TimeoutError):
            if machine.first is not None:
                self.cluster.ensure(machine, daemon)

    def cut(self, host: Machine) -> bool:
        is_long = self.random.random() < 0.03
        self.cluster.cut(host)
        after_s = _LONG_CUT_S if is_long else self.random.uniform(0.2, 5)
        self.later(after_s, lambda: self.plug_in(host))
        return True

    def plug_in(self, host: Machine) -> None:
        """Slurm asks a host that did not answer every 100 s only; a slurmd that starts says so itself."""
        with self.hand(host):
            self.cluster.cut(host, up=True)
            if host.kill("slurmd"):
                self.restart(host, "slurmd")

    def swap(self, host: Machine) -> bool:
        first, second = SLOTS[:2]
        drives = host.in_slot(first), host.in_slot(second)
        host.put(first, None)
        host.put(second, drives[0])
        host.put(first, drives[1])
        return True

    def empty(self, host: Machine) -> bool:
        """The drive is put back later, into whichever slot is empty then."""
        slot = self.random.choice(SLOTS)
        drive = host.in_slot(slot)
        if drive is None:
            return False
        host.put(slot, None)
        self.later(self.random.uniform(1, 6), lambda: self.put_back(host))
        return True

    def put_back(self, host: Machine) -> None:
        with self.hand(host):
            inside = [host.in_slot(slot) for slot in SLOTS]
            outside = [drive for drive in host.drives if drive not in inside]
            for slot in SLOTS:
                if host.in_slot(slot) is None and outside:
                    host.put(slot, outside.pop())

    def lose_power(self, host: Machine) -> bool:
        if self.random.random() < 0.7:
            return False  # a host takes a while to be of use again
        host.power_off()
        self.cluster.boot(host)
        return True

    def kill_submitter(self, host: Machine) -> bool:
        slot = self.random.choice(SLOTS)
        drive = host.in_slot(slot)
        if drive is None:
            return False
        words = ["fleet", "submit", "--host", host.name, "--slot", slot, "--serial", drive.serial, *TEST]
        run_id = new_run_id()
        words[2:2] = ["--run-id", run_id]
        process = subprocess.Popen(
            [*self.cluster.command(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.later(self.random.uniform(0.5, 9), process.kill)
        self.later(60, process.wait)
        return True

    def heal(self) -> None:
        for host in self.cluster.hosts.values():
            self.cluster.cut(host, up=True)
            self.put_back(host)
            for daemon in ("munged", "slurmd"):
                self.restart(host, daemon)
        for daemon in ("munged", "slurmctld"):
            self.restart(self.cluster.head, daemon)


FAULTS: Final[dict[str, Callable[[Trial, Machine], bool]]] = {
    "kill slurmctld": lambda trial, _: trial.kill_daemon(trial.cluster.head, "slurmctld"),
    "kill slurmd": lambda trial, host: trial.kill_daemon(host, "slurmd"),
    "kill munged": lambda trial, host: trial.kill_daemon(host, "munged"),
    "kill the head's munged": lambda trial, _: trial.kill_daemon(trial.cluster.head, "munged"),
    "kill slurmstepd": lambda _, host: host.kill("slurmstepd"),
    "kill openpts": lambda _, host: host.kill("python"),
    "kill a submitter": Trial.kill_submitter,
    "cut the link": Trial.cut,
    "swap two drives": Trial.swap,
    "empty a slot": Trial.empty,
    "lose power": Trial.lose_power,
}


def told_steps(events: Path) -> Iterator[tuple[int, str, int]]:
    """Cycle, phase and length of each step that was told finished; the last line may be cut."""
    with suppress(FileNotFoundError):
        for line in events.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n") and b'"step_finished"' in line:
                event: Any = json.loads(line)
                yield event["place"]["cycle"], event["place"]["phase"], event["elapsed_ns"]


def stored_steps(folder: Path) -> list[tuple[int, str, int]]:
    """Of all steps of a record, also those that were set aside by a resumption."""
    with closing(sqlite3.connect(f"file:{folder}/run.db?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT cycle, part, elapsed_ns FROM step").fetchall()


@contextmanager
def trial(seed: int) -> Iterator[Trial]:
    with slurm_cluster() as cluster:
        client = Client(cluster)
        try:
            yield Trial(cluster, client, Random(seed))
        finally:
            client.end()


def main() -> None:
    number, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 10**6
    with trial(seed) as running:
        outcome = running.go(number)
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(outcome)).decode() + f"\nseed {seed}\n")
        if outcome.wrong:
            sys.exit(1)


if __name__ == "__main__":
    main()
