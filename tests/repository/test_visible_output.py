"""What is printed acts on no terminal and turns nothing around, wherever it comes from."""

import ast
import errno
import fcntl
import os
import pty
import subprocess
import sys
import textwrap
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.cli.folder_events import background_listener
from openpts.cli.standard_streams import LastingOutput, lasting
from openpts.escaped_text import visible
from tests.support.openpts_command import COMMAND
from tests.support.syntax_trees import PACKAGES, nodes

# an extension turned around, an isolate, a mark; the screen cleared, a bell, a C1 sequence
HOSTILE = "cod\u202egnp.exe\u2066\u200f\x1b[2J\x07\x9b31m"
WRITTEN_OUT = r"cod\u202egnp.exe\u2066\u200f\x1b[2J\x07\x9b31m"
TURNS_AROUND = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def at_a_terminal(*command: str, cwd: Path) -> str:
    """All that a program sends to its screen, by whichever stream."""
    screen, terminal = pty.openpty()
    with subprocess.Popen(command, cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal):
        os.close(terminal)
        sent = bytearray()
        try:
            while part := os.read(screen, 65536):
                sent += part
        except OSError:  # the last one at the terminal has gone
            pass
    os.close(screen)
    return sent.decode()


@given(st.text())
def test_nothing_invisible_is_left(text) -> None:
    shown = visible(text)
    for character in shown:
        assert unicodedata.bidirectional(character) not in TURNS_AROUND
        assert character in "\n\t" or unicodedata.category(character)[0] != "C"
    shown.encode()  # no lone surrogate, as of a name that is not UTF-8


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs"), include_characters="\n\t")))
def test_what_can_be_seen_stays_as_it_is(text) -> None:
    assert visible(text) == text


@pytest.mark.needs("terminals")
@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("command", ["report", "verify", "verify --requirements", "compare"])
def test_the_name_of_a_folder_reaches_no_terminal_raw(command, tmp_path) -> None:
    (tmp_path / HOSTILE).mkdir()
    shown = at_a_terminal(*COMMAND, *command.split(), HOSTILE, cwd=tmp_path)
    assert WRITTEN_OUT in "".join(shown.splitlines())
    assert visible(shown.replace("\r\n", "\n")) == shown.replace("\r\n", "\n")


def test_a_name_that_is_no_utf_8_is_one_line(tmp_path) -> None:
    done = subprocess.run(
        [*COMMAND, "report", b"run\xff\xe2\x80"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 8
    assert done.stderr == b"openpts: run\\udcff\\udce2\\udc80 can't be read: there is no such folder\n"


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_lets_it_through(encoding, tmp_path) -> None:
    done = subprocess.run(
        [*COMMAND, "report", "ä 測\u202e\x9b"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    named = "ä 測\\u202e\\x9b".encode(encoding, "backslashreplace")
    assert done.stderr == b"openpts: " + named + b" can't be read: there is no such folder\n"
    assert done.returncode == 8


PRINTING = f"""
    import sys, time
    from rich.table import Table
    from rich.text import Text
    from openpts_io.io_result import following
    from openpts.cli.standard_streams import lasting
    from openpts.cli.console import live_console, table_console
    with lasting("stdout"):
        table = Table("head", style="red")
        table.add_row({HOSTILE!r})
        console = table_console()
        console.print(table, {HOSTILE!r}, Text({HOSTILE!r}), style="bold")
        with live_console(sys.stdout, lambda _console: Text()) as live:
            live.print(Text({HOSTILE!r}))
            print({HOSTILE!r})
"""


@pytest.mark.needs("terminals")
def test_rich_alone_controls_the_terminal(tmp_path) -> None:
    shown = at_a_terminal(sys.executable, "-c", textwrap.dedent(PRINTING), cwd=tmp_path)
    assert "\x1b[1m" in shown  # what rich has to say to the terminal
    assert "\x1b[?25l" in shown
    for hostile in ("\u202e", "\u2066", "\u200f", "\x1b[2J", "\x07", "\x9b"):
        assert hostile not in shown, ascii(hostile)
    assert shown.count(r"\u202egnp.exe") == 5


@pytest.mark.slow
def test_those_who_draw_on_the_terminal_themselves_are_known() -> None:
    """Everybody else prints text, which is made visible on its way."""

    def name_of(called: ast.expr) -> str | None:
        return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)

    def calling(*names: str) -> set[str]:
        return {
            module
            for module, of_module in nodes()
            for node in of_module
            if isinstance(node, ast.Call) and name_of(node.func) in names
        }

    assert calling("with_controls") == {
        "openpts_compare/cli/gate.py",
        "openpts/cli/standard_streams.py",
        "openpts/cli/console.py",
    }
    assert calling("Console") == set()
    assert "VisibleConsole(Console)" in (PACKAGES / "openpts/cli/console.py").read_text()


MAIN = "from openpts.cli.main import main; main()"
PLAN = (sys.executable, "-c", MAIN, "plan", "iops", "--capacity", "1TB", "--json")


def test_a_reader_that_quits_is_no_loss() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    output = LastingOutput(writing)
    assert output.write(b"anything") == 8
    assert output.write(b"more") == 4
    assert output.failure.errno == errno.EPIPE
    assert output.lost == ""
    os.close(writing)


def test_a_full_disk_is_one() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    output = LastingOutput(full)
    assert output.write(b"anything") == 8
    assert output.lost == os.strerror(errno.ENOSPC)
    os.close(full)


def test_a_pipe_that_takes_nothing_for_now_is_waited_for() -> None:
    reading, writing = os.pipe()
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    sent = bytes(range(256)) * 4096  # more than a pipe holds
    received = bytearray()

    def read() -> None:
        while part := os.read(reading, 65_536):
            received.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    output = LastingOutput(writing)
    assert output.write(sent) == len(sent)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert bytes(received) == sent
    assert output.failure is None


def test_the_stream_that_was_there_comes_back(capfd) -> None:
    before = sys.stdout
    with lasting("stdout") as output:
        assert output is not None
        assert sys.stdout is not before
        sys.stdout.write("in between\n")
    assert sys.stdout is before
    assert capfd.readouterr().out == "in between\n"


def test_a_stream_without_a_descriptor_is_left_as_it_is(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with lasting("stdout") as output:
        assert output is None
        assert sys.stdout is None


def test_a_command_whose_output_is_lost_says_so() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(PLAN, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"openpts: the output was lost: {os.strerror(errno.ENOSPC)}\n"


def test_a_verdict_stands_where_the_output_is_lost(golden) -> None:
    words = [*PLAN[:3], "gate", "no-run", "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 8
    assert done.stderr == golden


def test_a_command_whose_reader_quits_ends_well() -> None:
    with subprocess.Popen(PLAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait() == 0


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
def test_a_slow_reader_gets_every_line(lines_of_an_event, monkeypatch) -> None:
    """Also where they are all of one event, as verdicts at the end are: it has more time than others."""
    monkeypatch.setattr("openpts.cli.folder_events._PATIENCE_S", 0.2)
    taken = []

    def read(source: int) -> None:
        time.sleep(0.6)
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


def test_what_works_on_is_waited_for(capsys) -> None:
    done = []

    def compute(end_s: float) -> None:
        while time.monotonic() < end_s:
            sum(range(1000))
        done.append(end_s)

    with background_listener(nullcontext(compute), name="--events X", patience_s=0.2) as on_event:
        on_event(time.monotonic() + 0.6)
    assert len(done) == 1
    assert capsys.readouterr().err == ""


def test_a_reader_that_takes_nothing_is_left_and_named(capsys) -> None:
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
