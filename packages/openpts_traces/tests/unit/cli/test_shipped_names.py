"""Names of recipes, where another form is known: what is answered can be typed."""

import re
from pathlib import Path

import pytest

from openpts_traces.recipes import PREFIX, recipes, shipped_hint
from openpts_traces.replay.traces import trace_of
from tests.repository.test_first_contact import seen

DRIVE = "sim:enterprise-tlc?scale=1"
WORDS = ("database", "office", "like:office", "recipe:office", "recipe:datbase", "odd")
COMMANDS = {
    "trace check": ("trace", "check", "{}"),
    "run replay": ("run", "replay", "{}", DRIVE),
    "plan replay": ("plan", "replay", "--traces", "{}", DRIVE),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_of_another_form_is_answered_with_what_to_type(
    command, snapshot, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = {}
    for word in WORDS:
        text, _code = seen(*(part.format(word) for part in COMMANDS[command]))
        answers[word] = text.splitlines()[0]
    assert answers == snapshot
    assert not list(tmp_path.iterdir())


def test_what_is_answered_is_taken() -> None:
    for bare in ("database", "office", "recipe:datbase"):
        (typed,) = re.findall(r"did you mean (\S+)\?", shipped_hint(bare))
        assert trace_of(typed).path == typed
    assert not any(map(shipped_hint, (PREFIX + name for name in recipes())))


def test_a_file_of_that_name_is_taken(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("database").write_text("fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n5 /dev/x read 0 4096\n")
    assert trace_of("database").name == "database"
    text, code = seen("trace", "check", "database")
    assert code == 0, text
