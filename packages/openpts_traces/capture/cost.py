"""What capturing costs: the same reads without, with, and without it."""

import json
import os
import sys
import threading
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import RecordError, RunFailedError, failing_as
from openpts.journal import Journal
from openpts.path_owners import exchangeable
from openpts.programs import ProgramError, Reply, run_program
from openpts.system_files import SystemRoots
from openpts.temporary_folder import temporary_folder
from openpts_traces.capture.capture import CaptureRequest, CaptureResult, capture

_SEED: Final = 1
_OPENPTS: Final = "from openpts.cli.main import main; main()"
_TIMEOUT_S: Final = 120.0


class PhaseLoad(Struct, frozen=True):
    """The load in one phase; processor time is that of the whole machine."""

    iops: float
    p99_us: float
    cpu_us_per_io: float


class Cost(Struct, frozen=True):
    """Three phases, and what the second differs by from the mean of the others."""

    before: PhaseLoad
    during: PhaseLoad
    after: PhaseLoad
    lost: int
    cpu_share: float

    @property
    def iops_loss(self) -> float:
        """Share of the IOPS that capturing takes."""
        return 1 - self.during.iops / ((self.before.iops + self.after.iops) / 2)

    @property
    def p99_gain_us(self) -> float:
        """By how much the 99th percentile grows."""
        return self.during.p99_us - (self.before.p99_us + self.after.p99_us) / 2

    @property
    def cpu_gain_us(self) -> float:
        """Processor time that an I/O takes more."""
        return self.during.cpu_us_per_io - (self.before.cpu_us_per_io + self.after.cpu_us_per_io) / 2


def measure_cost(order: CaptureRequest, journal: Journal, roots: SystemRoots, seconds: float) -> Cost:
    """Read at random from the first device, three times as long as said; nothing is kept of the capture.

    Raises RunFailedError if the reads fail, RecordError for a folder that another user may exchange, and what
    capture() raises.
    """
    what = f"can't measure the cost in {order.file.parent}"
    with failing_as(RecordError, what):
        others = exchangeable(order.file.parent)
    if others:
        raise RecordError(f"{what}: {others}; name a file in a folder of your own")
    load = _Load(order, seconds)
    before = load.run()
    with temporary_folder("capture", order.file.parent) as folder:
        during, result = load.run_captured(replace(order, file=folder / "capture"), journal, roots)
    after = load.run()
    return Cost(before, during, after, result.summary["lost"], result.cpu_share)


class _Load(Struct, frozen=True):
    order: CaptureRequest
    seconds: float

    def run(self) -> PhaseLoad:
        """Raises RunFailedError."""
        return _phase(self._answer())

    def run_captured(
        self, order: CaptureRequest, journal: Journal, roots: SystemRoots
    ) -> tuple[PhaseLoad, CaptureResult]:
        """The load while the capture is in progress. Raises RunFailedError."""
        answers: list[Reply | RunFailedError] = []

        def work() -> None:
            try:
                answers.append(self._answer())
            except RunFailedError as error:
                answers.append(error)

        thread = threading.Thread(target=work, name="openpts-load")
        result = capture(order, journal, roots, thread.is_alive, begun=thread.start)
        thread.join()
        if isinstance(answers[0], RunFailedError):
            raise answers[0]
        return _phase(answers[0]), result

    def _answer(self) -> Reply:
        node = str(self.order.devices[0].block.node)
        options = ("--seconds", f"{self.seconds:g}", "--seed", str(_SEED), "--json")
        command = (sys.executable, "-c", _OPENPTS, "io", node, *options)
        with failing_as(RunFailedError, "can't measure the cost", of=ProgramError):
            answer = run_program(command, self.seconds + _TIMEOUT_S)
        if answer.returncode:
            raise RunFailedError(f"can't measure the cost: {answer.complaint}")
        return answer


def _phase(answer: Reply) -> PhaseLoad:
    found: dict[str, Any] = json.loads(answer.stdout)
    total, cpu = found["total"], found["cpu"]
    busy_us = (
        (cpu["user_pct"] + cpu["sys_pct"]) / 100 * found["elapsed_seconds"] * (os.cpu_count() or 1) * 1e6
    )
    return PhaseLoad(
        total["iops"], total["percentiles_ns"]["99"] / 1000, busy_us / total["ios"] if total["ios"] else 0.0
    )
