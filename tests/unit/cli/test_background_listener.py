"""What is written behind a run's back is complete at its end, unless its reader is stuck."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

from openpts.cli.background_listener import background_listener
from openpts.cli.broken_pipe import LastingOutput

LINE = b"x" * 199 + b"\n"
EVENTS = 5000


@contextmanager
def pipe(read: Callable[[int], None]) -> Iterator[LastingOutput]:
    """A pipe whose other end is read by a thread, which has ended when the pipe is closed."""
    output, source = LastingOutput((ends := os.pipe())[1]), ends[0]
    reader = threading.Thread(target=read, args=(source,))
    reader.start()
    try:
        yield output
    finally:
        os.close(output.fileno())
        reader.join()
        os.close(source)


@pytest.mark.parametrize("lines_of_an_event", [1, EVENTS])
def test_a_slow_reader_gets_every_line(lines_of_an_event: int) -> None:
    """Also where they are all of one event, as verdicts at the end are."""
    taken = []

    def read(source: int) -> None:
        time.sleep(2.5)
        while data := os.read(source, 4096):
            taken.append(len(data))
            time.sleep(0.001)

    def write(lines: int) -> None:
        for _ in range(lines):
            output.write(LINE)

    with pipe(read) as output, background_listener(nullcontext(write), name="--events X") as on_event:
        for _ in range(EVENTS // lines_of_an_event):
            on_event(lines_of_an_event)
    assert sum(taken) == EVENTS * len(LINE)


def test_what_works_on_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    done = []

    def compute(end_s: float) -> None:
        while time.monotonic() < end_s:
            sum(range(1000))
        done.append(end_s)

    with background_listener(nullcontext(compute), name="--events X", patience_s=0.2) as on_event:
        on_event(time.monotonic() + 1.5)
    assert len(done) == 1
    assert capsys.readouterr().err == ""


def test_a_reader_that_takes_nothing_is_left_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    may_read = threading.Event()

    def read(source: int) -> None:
        may_read.wait()
        while os.read(source, 1 << 20):
            pass

    written = threading.Event()

    def write(_event: int) -> None:
        output.write(LINE)
        if _event == EVENTS - 1:
            written.set()

    with pipe(read) as output:
        with background_listener(nullcontext(write), name="--events X", patience_s=0.2) as on_event:
            for event in range(EVENTS):
                on_event(event)
        told = capsys.readouterr().err
        may_read.set()
        written.wait()
    assert told == "openpts: --events X is incomplete: its reader took nothing for 0.2 s\n"
