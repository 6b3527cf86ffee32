"""What viewers of a live page cost: the server's processor time, and what a measurement beside them sees.

A run's file of events gets a line of progress each second, as from a run; `openpts serve` is a process of its
own, and all viewers are one process more. First the processor time of both. Then pairs, as
benches/telemetry_cost.py prints them: 4 KiB random reads on a loop device in memory, with the server and its
viewers ("on") and with a server that is not asked ("off"); the line is written in both.

    python -m benches.live_viewers [--viewers 50] [--elsewhere] [--seconds 3] [--pairs 7] [--qd 1 32]

--elsewhere: viewers take in no line after they came up with the file; the kernel keeps what is sent. What is
left is the server's part, as if they were on other machines. Needs root for the loop device.
"""

import argparse
import json
import multiprocessing
import os
import re
import selectors
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from msgspec import Struct

from benches.engine_against_fio import fill
from benches.targets import machine, memory_drive, opened
from benches.telemetry_cost import CAPACITY, Bench, Figures, compare
from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed, new_run_id
from openpts.record.writer import EVENTS_NAME
from openpts.system_files import SystemRoots
from tests.support.library_runs import TLC, made_run
from tests.support.openpts_command import COMMAND

_LINE: Final = (
    b'{"kind":"progress","at":"2026-11-27T00:00:00Z","step_elapsed_ns":1000000000,"ios":49000,'
    b'"bytes":200704000,"iops":49000.0,"bytes_per_s":200704000.0,"temperature_c":41.0,"drive_fills":1.25}\n'
)
_LINE_EACH_S: Final = 1.0
_COUNTED_S: Final = 20


class Viewed(Struct, frozen=True):
    """A run's stream at a server, and the file that it shows."""

    port: int
    run_id: str
    events: Path

    @contextmanager
    def by(self, count: int, *, elsewhere: bool) -> Iterator[int]:
        """So many viewers, in the process whose number this is."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_look_on, args=(self, count, elsewhere, there), daemon=True)
        process.start()
        there.close()
        try:
            here.recv()
            assert process.pid is not None
            yield process.pid
        finally:
            process.kill()
            process.join()


def _look_on(viewed: Viewed, count: int, elsewhere: bool, ready: Connection) -> None:
    """Open the streams, and go on writing lines and taking them in until killed."""
    with ExitStack() as stack:
        streams = [stack.enter_context(_stream(viewed)) for _ in range(count)]
        selector = stack.enter_context(selectors.DefaultSelector())
        for stream in () if elsewhere else streams:
            selector.register(stream, selectors.EVENT_READ)
        ready.send(None)
        due_s = time.monotonic()
        while True:
            with viewed.events.open("ab") as file:
                file.write(_LINE)
            due_s += _LINE_EACH_S
            while (left_s := due_s - time.monotonic()) > 0:
                for key, _ in selector.select(left_s):
                    assert isinstance(key.fileobj, socket.socket)
                    if not key.fileobj.recv(1 << 16):
                        raise SystemExit("the server has ended a stream")


def _stream(viewed: Viewed) -> socket.socket:
    """A viewer that has come up with the file: what follows the lines says whether the run goes on."""
    stream = socket.create_connection(("127.0.0.1", viewed.port))
    asked = f"GET /api/runs/{viewed.run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{viewed.port}\r\n\r\n"
    stream.sendall(asked.encode())
    seen = b""
    while b"in_progress" not in seen:
        seen = seen[-64:] + stream.recv(1 << 16)
    return stream


@contextmanager
def _served(folder: Path) -> Iterator[tuple[int, Viewed]]:
    """The process of a server, and a run in it that goes on."""
    run = made_run(folder / "runs" / "a", "lat", TLC, "--seed", 1, "--no-report")
    (run / CLAIM_NAME).unlink()
    owner = RunOwner.this_process(new_run_id(), "sim:x", (), SystemRoots())
    words = [*COMMAND, "serve", str(folder / "runs"), "--port", "0"]
    environment = os.environ | {"OPENPTS_CACHE": str(folder / "cache")}
    with (
        folder_claimed(run, owner, again=False),
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as server,
    ):
        try:
            found = re.search(r":(\d+)/", str(server.stdout and server.stdout.readline()))
            assert found
            with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/api/runs") as answer:
                run_id = json.load(answer)["runs"][0]["id"]
            yield server.pid, Viewed(int(found[1]), run_id, run / EVENTS_NAME)
        finally:
            server.terminate()


def _processor_s(pid: int) -> float:
    """What all threads of a process have run, by the scheduler's count."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def _print_processor_time(server: int, viewed: Viewed, count: int, *, elsewhere: bool) -> None:
    with viewed.by(count, elsewhere=elsewhere) as viewers:
        time.sleep(_LINE_EACH_S)
        begun_s, before = time.monotonic(), (_processor_s(server), _processor_s(viewers))
        time.sleep(_COUNTED_S)
        taken_s = time.monotonic() - begun_s
        of = [(_processor_s(pid) - one) / taken_s for pid, one in zip((server, viewers), before, strict=True)]
    print(f"{count} viewers: server {of[0]:.2%} of a processor, their own process {of[1]:.2%}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--viewers", type=int, default=50)
    arguments.add_argument("--elsewhere", action="store_true")
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--pairs", type=int, default=7)
    arguments.add_argument("--qd", type=int, nargs="*", default=[1, 32])
    given = arguments.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        server, viewed = stack.enter_context(_served(folder))
        print(f"{machine()}; load {os.getloadavg()[0]:.1f}")
        _print_processor_time(server, viewed, given.viewers, elsewhere=given.elsewhere)
        if not given.qd:
            return
        path = stack.enter_context(memory_drive(CAPACITY, folder))
        fill(path)
        target = stack.enter_context(opened(path, SystemRoots()))
        for qd in given.qd:
            bench = Bench(target, qd, given.seconds, 1)

            def measured(count: int, bench: Bench = bench) -> Figures:
                with viewed.by(count, elsewhere=given.elsewhere):
                    return bench.measure(sampled=False)

            print(f"4 KiB random read, QD {qd}, {given.pairs} pairs of {given.seconds:g} s")
            compare(lambda: measured(given.viewers), lambda: measured(0), given.pairs)
            bench.engine.stop()


if __name__ == "__main__":
    main()
