"""The search for signatures, with programs in place of wipefs that misbehave as it may."""

from pathlib import Path

import pytest

from openpts import programs
from openpts.device.guard import signatures
from openpts.device.guard.signatures import SignatureSearchError, find_signatures

NODE = Path("/dev/made-up")
FOUND = """\
{"signatures": [{"offset": "0x200", "type": "gpt", "label": null},
                {"offset": "0x438", "type": "ext4", "label": "my \\u001b[31mdisk"}]}"""


@pytest.fixture
def wipefs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where to put the program; nothing else is found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_SYSTEM_PROGRAM_FOLDERS", str(tmp_path))
    return tmp_path / "wipefs"


def _install(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_signatures_are_told_with_their_places(wipefs: Path) -> None:
    _install(wipefs, f"/bin/cat <<'END'\n{FOUND}\nEND")
    assert find_signatures(NODE) == (
        "gpt at 0x200",
        "ext4 labeled my \N{REPLACEMENT CHARACTER}[31mdisk at 0x438",
    )


@pytest.mark.parametrize("answer", ["", "\n", '{"signatures": []}'])
def test_none_may_be_told_in_several_ways(answer: str, wipefs: Path) -> None:
    _install(wipefs, f"printf '%s' '{answer}'")
    assert find_signatures(NODE) == ()


def test_it_only_looks(wipefs: Path, tmp_path: Path) -> None:
    _install(wipefs, f'echo "$LC_ALL" "$@" > {tmp_path}/called')
    find_signatures(NODE)
    called = (tmp_path / "called").read_text()
    assert called == "C --no-act --noheadings --json --output OFFSET,TYPE,LABEL /dev/made-up\n"


def test_a_missing_program_is_no_answer(wipefs: Path) -> None:
    with pytest.raises(SignatureSearchError, match="install the package util-linux"):
        find_signatures(NODE)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'probing failed' >&2; exit 1", "could not read /dev/made-up: probing failed"),
        ("kill -9 $$", "could not read"),
        ("echo 'no json'", "can't parse the output of wipefs"),
        ("echo '[]'", "can't parse"),
        ("""echo '{"signatures": [{"type": "gpt"}]}'""", "can't parse"),
        ("""echo '{"signatures": null}'""", "can't parse"),
        ("printf '\\377'", "can't parse"),
        ("/bin/sleep 60", "could not read"),
    ],
)
def test_a_program_that_fails_is_no_answer(
    script: str, says: str, wipefs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signatures, "_TIMEOUT_S", 0.5)
    _install(wipefs, f"exec {script}" if script.startswith("/bin/sleep") else script)
    with pytest.raises(SignatureSearchError, match=says):
        find_signatures(NODE)


def test_a_file_that_cannot_run_is_no_answer(wipefs: Path) -> None:
    wipefs.write_bytes(b"\x7fELF nothing")
    wipefs.chmod(0o755)
    with pytest.raises(SignatureSearchError, match="could not read"):
        find_signatures(NODE)
