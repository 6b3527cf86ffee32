"""What it takes to add runs to an archive on S3, and to check it, where each request takes a while.

moto stands in for AWS. Between it and openpts, a proxy holds back what a client sends by the time of a
request; moto itself is one process, whose own time a delay of 0 gives.

    .venv/bin/python -m benches.archive_on_s3 [--runs 20] [--delay-ms 20]

Each command is a process of its own, from start to end. `check` is put five times.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyarrow import fs
from tests.support.openpts_command import COMMAND
from tests.support.s3_server import moto

_RUN: Final = ("tp", "sim:mlc?capacity=1GB", "--quick", "--no-report")
_PLACE: Final = "s3://lab/archive"
_REPEATS: Final = 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--runs", type=int, default=20)
    arguments.add_argument("--delay-ms", type=float, default=20)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary, moto(Path(temporary)) as variables:
        runs = [Path(temporary) / f"run{number}" for number in range(chosen.runs)]
        for run in runs:
            subprocess.run([*COMMAND, "run", *_RUN, "--out", str(run)], check=True, capture_output=True)
        server = variables["AWS_ENDPOINT_URL"]
        os.environ |= variables
        fs.S3FileSystem(endpoint_override=server, allow_bucket_creation=True).create_dir("lab")
        with delaying(int(server.rpartition(":")[2]), chosen.delay_ms / 1000) as port:
            os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
            print(f"add:           {took_s('add', *map(str, runs), '--to', _PLACE):7.2f} s")
            for words in (("check", _PLACE), ("check", "--quick", _PLACE)):
                seconds = statistics.median(took_s(*words) for _ in range(_REPEATS))
                print(f"{' '.join(words[:-1]):14} {seconds:7.2f} s   median of {_REPEATS}")


def took_s(*words: str) -> float:
    """Seconds on the clock of a command of archives."""
    began_s = time.monotonic()
    subprocess.run([*COMMAND, "archive", *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began_s


@contextmanager
def delaying(server_port: int, delay_s: float) -> Iterator[int]:
    """A port of this machine that leads to another, and holds back what comes from clients."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(
        asyncio.start_server(lambda *client: _joined(*client, server_port, delay_s), "127.0.0.1", 0)
    )
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield server.sockets[0].getsockname()[1]
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


async def _joined(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server_port: int, delay_s: float
) -> None:
    there = await asyncio.open_connection("127.0.0.1", server_port)
    await asyncio.gather(_passed_on(reader, there[1], delay_s), _passed_on(there[0], writer, 0))


async def _passed_on(source: Any, target: Any, delay_s: float) -> None:
    while content := await source.read(2**20):
        await asyncio.sleep(delay_s)
        target.write(content)
        await target.drain()
    target.close()


if __name__ == "__main__":
    main()
