"""What those see who type a command for the first time: alone, with ``--help``, with a wrong word.

The snapshots are transcripts at 80 columns, a file for each command below ``openpts``. After a change that is
meant: ``pytest tests/repository/test_first_contact.py --snapshot-update``, and read the difference.
"""

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from importlib.metadata import version
from itertools import chain

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.cli.commands_on_demand import example_of
from openpts.cli.main import cli, main
from openpts.cli.options import UsualFirst
from openpts_contents import LISTING
from tests.support.command_tree import all_commands
from tests.support.machine import lacking
from tests.support.openpts_command import COMMAND
from tests.support.subject_files import CLONE
from tests.support.transcript import Transcript

TREE = dict(all_commands())
# They need no words, and what they tell is that of the machine.
TELL_OF_THE_MACHINE = {("devices",), ("doctor",), ("attach",)}
# Longer than a screen, or carried out at once, and held by tests of their own.
HELD_ELSEWHERE = {("tour",)}
GROUPS_OF_TESTS = ("run", "plan")


@pytest.fixture
def transcript(snapshot) -> SnapshotAssertion:
    return snapshot.use_extension(Transcript)


@pytest.fixture(autouse=True)
def _in_an_empty_folder_at_80_columns(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for command in TREE.values():  # click keeps the one of another test, which had no parent to give it "-h"
        monkeypatch.setattr(command, "_help_option", None)
    yield
    assert not list(tmp_path.iterdir()), "words that make no sense leave nothing behind"


def seen(*words: str) -> tuple[str, int]:
    """Both streams as they follow each other, and the exit status."""
    both = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["openpts", *words])
        for stream in ("stdout", "stderr"):
            patch.setattr(sys, stream, both)
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    return everywhere(both.getvalue()), code if isinstance(code, int) else 0


def everywhere(text: str) -> str:
    """What is the same on every machine, in every version."""
    return text.replace(version("openpts"), "VERSION").replace(os.environ["OPENPTS_STATE"], "STATE")


def as_typed(*words: str, only: str | None = None) -> str:
    text, code = seen(*words)
    return f"$ {shlex.join(['openpts', *words])}\n{text if only is None else only}[{code}]\n"


def entries(text: str) -> list[str]:
    """The options of a help page."""
    _, _, options = text.partition("\nOptions:\n")
    return re.split(r"^(?=  -)", options, flags=re.MULTILINE)[1:]


def without_what_iops_has(words: tuple[str, ...], text: str) -> str:
    """A page of a test but for the options that the page of IOPS shows in the same words."""
    known = set(entries(seen(words[0], "iops", "--help-all")[0]))
    others = [entry for entry in entries(text) if entry not in known]
    head, _, _ = text.partition("\nOptions:\n")
    return f"{head}\nOptions beside those of {words[0]} iops:\n{''.join(others)}"


def help_of(words: tuple[str, ...]) -> str:
    if len(words) == 2 and words[0] in GROUPS_OF_TESTS and words[1] != "iops":
        text, _ = seen(*words, "--help-all")
        return as_typed(*words, "--help-all", only=without_what_iops_has(words, text))
    return "\n".join(as_typed(*words, one) for one in help_options(words))


def help_options(words: tuple[str, ...]) -> tuple[str, ...]:
    return ("--help", "--help-all") if isinstance(TREE[words], UsualFirst) else ("--help",)


def first_contact(words: tuple[str, ...]) -> Iterator[str]:
    if words not in TELL_OF_THE_MACHINE | HELD_ELSEWHERE:
        yield as_typed(*words)
    yield help_of(words)
    yield as_typed(*words, "nope")
    yield as_typed(*words, "--hepl")


BY_TOP = pytest.mark.parametrize("top", ["openpts", *cli.list_commands(click.Context(cli))])


def below(top: str) -> list[tuple[str, ...]]:
    """The command of this name and its own commands; ``openpts`` alone has none."""
    return [words for words in TREE if (*words, "openpts")[0] == top]


@BY_TOP
def test_what_is_seen_at_80_columns(top, transcript) -> None:
    assert transcript == "\n".join(line for words in below(top) for line in first_contact(words))


@BY_TOP
def test_every_command_has_a_page_that_fits(top) -> None:
    for words, asked in [(each, asked) for each in below(top) for asked in help_options(each)]:
        page, code = seen(*words, asked)
        lines = page.splitlines()
        assert (code, lines[0].startswith(" ".join(["Usage: openpts", *words]))) == (0, True)
        assert not [line for line in lines if len(line) > 80 or line != line.rstrip()], words
        assert " RANGE" not in page, "click's name of a type says nothing of what is counted"
        cut = [line for line in lines[1:] if line.endswith("...") and not line.startswith("  --")]
        assert not cut, "the summary of a command is cut"


def test_the_help_of_a_run_is_one_screen_and_a_group_for_each_question() -> None:
    pages = {
        words: seen(*words, "--help")[0] for words, found in TREE.items() if isinstance(found, UsualFirst)
    }
    assert {("run", "iops"), ("run", "all"), ("io",), ("plan", "lat")} <= set(pages)
    for words, page in pages.items():
        lines = page.splitlines()
        shown = [line for line in lines if line.startswith("  -")]
        heads = [line for line in lines if line in {"What:", "How long:", "Safety:", "Output:"}]
        assert (len(lines) <= 45, len(shown) <= 15, len(heads) in {3, 4}) == (True, True, True), words
        every, _ = seen(*words, "--help-all")
        options = {one for one in TREE[words].params if isinstance(one, click.Option) and not one.hidden}
        assert not [
            one.opts for one in options if not re.search(rf"^  .*{one.opts[-1]}\b", every, re.MULTILINE)
        ]


@pytest.mark.parametrize("words", [words for words, found in TREE.items() if isinstance(found, click.Group)])
def test_a_group_alone_shows_its_page(words) -> None:
    alone, code = seen(*words)
    if words:
        page, _ = seen(*words, "--help")
        assert (alone.removeprefix(page), code) == (
            f"openpts: Missing command.\n  Example: {example_of(' '.join(['openpts', *words]))}\n",
            2,
        )
    else:
        assert (len(alone.splitlines()) < 24, code) == (True, 0)


@pytest.mark.parametrize("words", sorted(TELL_OF_THE_MACHINE), ids=" ".join)
def test_what_needs_no_words_works_without(words) -> None:
    text, code = seen(*words)
    assert (code, text != "", text.startswith("openpts: ")) == (0, True, False)
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def commands_of_examples() -> list[str]:
    shown = [
        command for command, _ in (*LISTING.first_examples, *chain.from_iterable(LISTING.examples.values()))
    ]
    return list(dict.fromkeys([*shown, *(example_of(" ".join(["openpts", *words])) for words in TREE)]))


def test_examples_are_command_lines_that_click_takes() -> None:
    for line in commands_of_examples():
        program, *words = shlex.split(line)
        assert program == "openpts"
        context = click.Context(cli, info_name="openpts")
        command: click.Command = cli
        while isinstance(command, click.Group) and words:
            name, found, words = command.resolve_command(context, words)
            assert found is not None, line
            context, command = click.Context(found, info_name=name, parent=context), found
        assert not isinstance(command, click.Group) or command is cli, line
        command.make_context(command.name, words, parent=context.parent)


@pytest.mark.full_matrix(most=10)
@pytest.mark.parametrize("test", [words[1] for words in TREE if words[:1] == ("plan",) and len(words) == 2])
def test_the_example_of_a_test_can_be_carried_out(test) -> None:
    _, _, _, *words = shlex.split(example_of(f"openpts run {test}"))
    own = {"mine.fio": str(CLONE / "jobfiles" / "alone.fio")}
    own["/mnt/data"] = tempfile.gettempdir()
    if "/mnt/data" in words and (why := lacking("directory")):
        pytest.skip(why)
    words = [own.get(word, word) for word in words]
    text, code = seen("plan", test, *words)
    said = ("purge", "round", "step", "conditioning")
    assert (code, any(word in text for word in said)) == (0, True), text


def test_the_nearest_word_is_named(transcript) -> None:
    typed = (
        ("ruN",),
        ("iops",),
        ("run", "ipos"),
        ("help",),
        ("version",),
        ("wear",),
        ("/dev/nvme0n1",),
        ("sim:enterprise-tlc",),
        ("list",),
        ("info",),
        ("bench",),
        ("plan", "iops", "sim:mlc", "--active-range", "0.75"),
        ("plan", "iops", "sim:mlc?capacity=400"),
        ("runs",),
        ("unlock",),
        ("plans",),
        ("conformance",),
        ("run", "iops", "--max-round", "5"),
        ("run", "iops", "sim:client-qlv"),
        ("sim", "show", "Enterprise-TCL"),
        ("plan", "iops", "--capacity", "1TB", "--purge", "dicsard"),
        ("run", "/dev/nvme0n1"),
        ("run", "iops", "sim:mlc", "--iodepth", "4"),
        ("io", "sim:mlc", "--ioengine", "libaio"),
        ("io", "--direct", "1", "sim:mlc"),
        ("run", "lat", "sim:mlc", "--tc", "many"),
        ("run", "lat", "sim:mlc", "--step-seconds", "few"),
    )
    assert transcript == "\n".join(as_typed(*words) for words in typed)


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        (("--class", "PTS-C"), ("--class", "client")),
        (("--class", "e"), ("--class", "enterprise")),
        (("--active-range", "75%"), ("--active-range", "75")),
        (("--step-seconds", "60s"), ("--step-seconds", "60")),
        (("--time-scale", "50%"), ("--time-scale", "1/2")),
    ],
)
def test_a_value_may_have_its_unit(typed, same) -> None:
    words = ("plan", "iops", "--capacity", "1TB", "--seed", "1")
    assert seen(*words, *typed) == seen(*words, *same)
    assert seen(*words, *typed)[1] == 0


@pytest.mark.parametrize("words", [("-V",), ("--version",)])
def test_the_version_is_told_in_each_way_that_is_tried(words) -> None:
    assert seen(*words) == ("openpts VERSION\n", 0)


def test_each_command_has_help_by_both_words() -> None:
    for words in TREE:
        assert seen(*words, "-h") == seen(*words, "--help"), words


@pytest.mark.parametrize("words", [(), ("--help",), ("run",)])
def test_the_first_pages_fit_a_narrow_terminal(words, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    commands = {
        command for command, _ in chain.from_iterable(LISTING.examples.values())
    }  # to be copied, so never broken
    text, _ = seen(*words)
    assert not [line for line in text.splitlines() if len(line) > 60 and line.strip() not in commands]


TYPED_FIRST = [(), ("run",), ("run", "iops"), ("i",), ("-V",), ("list",), ("/dev/nvme0n1",)]


@pytest.mark.full_matrix(most=2)
@pytest.mark.needs("terminals")
@pytest.mark.parametrize("words", TYPED_FIRST, ids=" ".join)
def test_a_terminal_and_a_pipe_show_the_same(words, monkeypatch) -> None:
    in_process = seen(*words)
    monkeypatch.delenv("COLUMNS")
    assert at_a_terminal(*words) == in_process
    assert in_a_pipe(*words) == in_process


@pytest.mark.needs("terminals")
def test_a_terminal_breaks_long_reasons_between_words_and_a_pipe_does_not() -> None:
    reason = (
        "openpts: there is no preset 'nope': there are client-qlc, enterprise-tlc, log-block, mlc, oracle, "
        "pslc, sata-reduction, theory, tlc; name your own by its path, such as ./drive.toml\n"
    )
    assert in_a_pipe("sim", "show", "nope") == (reason, 2)
    text, _ = at_a_terminal("sim", "show", "nope")
    first, *others = text.splitlines()
    assert " ".join([first, *(line.removeprefix("  ") for line in others)]) + "\n" == reason
    assert len(others) == 2
    assert all(len(line) <= 80 for line in (first, *others))


def in_a_pipe(*words: str) -> tuple[str, int]:
    done = subprocess.run(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    return everywhere(done.stdout), done.returncode


def at_a_terminal(*words: str) -> tuple[str, int]:
    """On a screen of 24 lines and 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen([*COMMAND, *words], stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b"".join(iter(lambda: _read(ours), b"")).decode().replace("\r\n", "\n")
    os.close(ours)
    return everywhere(text), process.returncode


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 65536)
    except OSError:  # the last process has closed it
        return b""


@pytest.mark.parametrize("words", [("sim", "list"), ("sim", "show", "mlc")], ids=" ".join)
def test_tables_end_where_their_words_end(words) -> None:
    text, _ = seen(*words)
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_a_plan_fits_80_columns_but_for_its_assumptions() -> None:
    for test in ("iops", "cbw", "precon"):
        text, code = seen("plan", test, "--capacity", "100TB")
        labeled = ("assumed ", "deviation ", "purge ", "writes ", "    ")
        _title, *lines = text.splitlines()
        long = [line for line in lines if len(line) > 80 and not line.startswith(labeled)]
        assert (code, long) == (0, [])
