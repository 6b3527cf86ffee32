"""What is printed acts on no terminal and turns nothing around, wherever it comes from."""

import ast
import os
import pty
import subprocess
import sys
import textwrap
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.escaped_text import visible
from tests.support.openpts_command import COMMAND
from tests.support.syntax_trees import PACKAGE, nodes

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
def test_nothing_invisible_is_left(text: str) -> None:
    shown = visible(text)
    for character in shown:
        assert unicodedata.bidirectional(character) not in TURNS_AROUND
        assert character in "\n\t" or unicodedata.category(character)[0] != "C"
    shown.encode()  # no lone surrogate, as of a name that is not UTF-8


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs"), include_characters="\n\t")))
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.needs("terminals")
@pytest.mark.with_plugins
def test_the_name_of_a_folder_reaches_no_terminal_raw(tmp_path: Path) -> None:
    (tmp_path / HOSTILE).mkdir()
    for command in ("report", "verify", "verify --requirements", "compare"):
        shown = at_a_terminal(*COMMAND, *command.split(), HOSTILE, cwd=tmp_path)
        assert WRITTEN_OUT in "".join(shown.splitlines()), command
        assert visible(shown.replace("\r\n", "\n")) == shown.replace("\r\n", "\n"), command


def test_a_name_that_is_no_utf_8_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "report", b"run\xff\xe2\x80"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 8
    assert done.stderr == b"openpts: run\\udcff\\udce2\\udc80 can't be read: there is no such folder\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_lets_it_through(encoding: str, tmp_path: Path) -> None:
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
    from openpts.cli.io_display import following
    from openpts.cli.broken_pipe import lasting
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
def test_rich_alone_controls_the_terminal(tmp_path: Path) -> None:
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

    assert calling("with_controls") == {"openpts_line/cli/gate.py", "cli/terminal.py", "cli/console.py"}
    assert calling("Console") == set()
    assert "VisibleConsole(Console)" in (PACKAGE / "cli/console.py").read_text()
