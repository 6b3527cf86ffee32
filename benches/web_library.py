"""What pages of `openpts serve` take with a library of 10,000 runs, and how soon a changed run is in it.

One short run on a simulated drive is copied, each copy with a test ID, a serial number, a firmware, a lot and
a time of its own. The server is a process of its own, asked over HTTP by one client.

    python -m benches.web_library [--runs 10000] [--requests 100] [--keep FOLDER]

Prints median and 95th percentile of each kind of request, in ms, on the clock and as the server's time of
processors; runs that are compared are drawn at random, so that nearly all of their records have to be read.
With ``--keep`` the library stays in a folder, and is made and read once.
"""

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.support.library_runs import change_record, copied_run, made_run
from tests.support.openpts_command import COMMAND

_FIRMWARE: Final = ("1.0", "1.1", "1.2", "2.0")
_PAUSE_S: Final = 0.03  # below the rate that the server allows a client


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--runs", type=int, default=10_000)
    arguments.add_argument("--requests", type=int, default=100)
    arguments.add_argument("--keep", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = given.keep or Path(temporary)
        if not (place / "first").exists():
            _make(place, given.runs)
        words = [*COMMAND, "serve", f"{place}/runs", "--port", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            try:
                _ask(server, place, given.requests)
            finally:
                server.terminate()


def _make(place: Path, count: int) -> None:
    first = made_run(place / "first", "lat", "sim:enterprise-tlc?capacity=4GB", "--no-report")
    for number in range(count):
        copied_run(
            first,
            place / "runs" / f"batch-{number // 100}" / f"run-{number}",
            test_id=f"run-{number:05}",
            started_at=f"20{20 + number % 7}-{1 + number % 12:02}-{1 + number % 28:02}T00:00:00+00:00",
            dut={
                "model": f"X{number % 10}00",
                "serial": f"S{number:06}",
                "firmware": _FIRMWARE[number % len(_FIRMWARE)],
            },
            people={"labels": {"lot": f"{number % 40}"}},
        )


def _ask(server: "subprocess.Popen[str]", place: Path, requests: int) -> None:
    found = re.search(r"http://\S+/", str(server.stdout and server.stdout.readline()))
    assert found
    base = found[0].rstrip("/")

    def get(path: str, **query: Any) -> bytes:
        asked = f"{base}{path}?{urllib.parse.urlencode(query, doseq=True)}"
        with urllib.request.urlopen(asked) as answer:
            content: bytes = answer.read()
        return content

    begun = time.perf_counter()
    while json.loads(get("/api/runs"))["unread"]:
        time.sleep(1)
    count = json.loads(get("/api/runs"))["count"]
    print(f"{count} runs read in {time.perf_counter() - begun:.0f} s")
    chance = random.Random(1)
    ids = []
    for page in range(1, 1 + -(-count // 100)):
        ids += [one["id"] for one in json.loads(get("/api/runs", page=page, sort="run", order="up"))["runs"]]
        time.sleep(_PAUSE_S)
    kinds: dict[str, Callable[[], bytes]] = {
        "first page of the library": lambda: get("/"),
        "filtered and sorted": lambda: get(
            "/", model=f"X{chance.randrange(10)}00", firmware=chance.choice(_FIRMWARE), sort="serial"
        ),
        "full text": lambda: get("/", q=f"S{chance.randrange(100):02}"),
        "a run": lambda: get(f"/runs/{chance.choice(ids)}"),
        "two runs compared": lambda: get("/compare", run=chance.sample(ids, 2)),
        "six runs compared, in two sets": lambda: get(
            "/compare", run=chance.sample(ids, 6), name=list("aaabbb")
        ),
        "a trend over 1,000 runs": lambda: get(
            "/trends", test="lat", key="rnd_4_kib_rw0.art", by="firmware", model="X100"
        ),
    }
    for kind, ask in kinds.items():
        both = [_timed(ask, server.pid) for _ in range(requests)]
        clock, processor = (_quantiles(sorted(one)) for one in zip(*both, strict=True))
        print(f"{kind}: clock {clock}; processors {processor}", flush=True)
    taken = [_seen_after_ms(place, number, get) for number in range(10)]
    print(f"a changed run is seen after {max(taken):.0f} ms at most, asked each 50 ms")


def _timed(ask: Callable[[], object], pid: int) -> tuple[float, float]:
    """On the clock and of the server's processors, ms."""
    time.sleep(_PAUSE_S)
    begun, used = time.perf_counter(), _processor_ms(pid)
    ask()
    return 1000 * (time.perf_counter() - begun), _processor_ms(pid) - used


def _processor_ms(pid: int) -> float:
    """What all threads of a process have run, by the scheduler's count."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6


def _quantiles(taken: list[float]) -> str:
    return f"median {taken[len(taken) // 2]:.0f} ms, p95 {taken[int(0.95 * (len(taken) - 1))]:.0f} ms"


def _seen_after_ms(place: Path, number: int, get: Callable[..., bytes]) -> float:
    name = f"changed-{number}"
    change_record(place / "runs" / "batch-0" / f"run-{number}", lambda _: {"test_id": name})
    begun = time.perf_counter()
    while not json.loads(get("/api/runs", q=f'"{name}"'))["count"]:
        time.sleep(0.05)
    return 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
