"""The stream of a run's events is its file, however often a reader comes again."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs openpts[web]")

from openpts.ownership import RunOwner, folder_claimed, new_run_id
from openpts.record.writer import EVENTS_NAME
from openpts.system_files import SystemRoots
from openpts_web import live
from openpts_web.live import Piece, event_stream, next_piece

LINES = [b'{"kind":"note","text":"%s"}' % (b"x" * (number * 37 % 211)) for number in range(400)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / EVENTS_NAME).write_bytes(b"".join(line + b"\n" for line in LINES))
    return tmp_path


def pieces(folder: Path, after: int = 0) -> Iterator[Piece]:
    while (piece := next_piece(folder, after)).end > after:
        yield piece
        after = piece.end


def test_all_lines_are_there_with_their_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (folder / EVENTS_NAME).read_bytes()
    for size in (1, 7, 64, 1000, 1 << 20):
        monkeypatch.setattr(live, "_PIECE_BYTES", size)
        found = [line for piece in pieces(folder) for line in piece.lines]
        assert [line for _, line in found] == LINES
        assert all(content[:end].endswith(line + b"\n") for end, line in found)


def test_a_reader_that_comes_again_misses_nothing_and_gets_nothing_twice(folder: Path) -> None:
    chance = random.Random(1)
    everything = [line for piece in pieces(folder) for line in piece.lines]
    for _ in range(50):
        read = chance.randrange(len(everything))
        last = everything[read - 1][0] if read else 0
        rest = [line for piece in pieces(folder, last) for line in piece.lines]
        assert everything[:read] + rest == everything


def test_half_a_line_waits_for_its_end(folder: Path) -> None:
    size = (folder / EVENTS_NAME).stat().st_size
    with (folder / EVENTS_NAME).open("ab") as file:
        file.write(b'{"kind":"no')
    assert next_piece(folder, size) == Piece((), size)
    with (folder / EVENTS_NAME).open("ab") as file:
        file.write(b'te"}\n')
    assert next_piece(folder, size).lines == ((size + 16, b'{"kind":"note"}'),)


@pytest.mark.parametrize("after", [3, 10**9])
def test_an_id_of_another_file_begins_anew(folder: Path, after: int) -> None:
    piece = next_piece(folder, after)
    assert piece.again
    assert piece.lines[0][1] == LINES[0]


def test_what_comes_each_second_is_left_out_where_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often, rare = b'{"kind":"progress","ios":1}', b'{"kind":"step_finished"}'
    (tmp_path / EVENTS_NAME).write_bytes((often + b"\n" + rare + b"\n") * 20)
    monkeypatch.setattr(live, "_RECENT_BYTES", 3 * len(often + rare + b"\n\n"))
    lines = [line for _, line in next_piece(tmp_path, 0, only_recent=True).lines]
    assert lines.count(rare) == 20
    assert 3 <= lines.count(often) <= 4
    assert lines[-2:] == [often, rare]


def test_no_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b'{"kind":"note"}\n')
    (tmp_path / EVENTS_NAME).symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic link"):
        next_piece(tmp_path, 0)


def test_a_stream_goes_on_through_the_end_and_the_resumption_of_a_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_LOOK_S", 0.01)

    def claimed(*, again: bool) -> AbstractContextManager[None]:
        owner = RunOwner.this_process(run_id, "sim:x", (), SystemRoots())
        return folder_claimed(folder, owner, again=again)

    run_id = new_run_id()

    async def told() -> str:
        found = ""
        stream = event_stream(folder, 0, only_recent=False)

        async def until(words: str, times: int = 1) -> None:
            nonlocal found
            while found.count(words) < times:
                found += (await anext(stream)).decode()

        with claimed(again=False):
            await until('{"in_progress":true}')
        await until('{"in_progress":false}')
        with claimed(again=True):
            with (folder / EVENTS_NAME).open("ab") as file:
                file.write(b'{"kind":"resumed"}\n')
            await until('{"in_progress":true}', 2)
            await until('{"kind":"resumed"}')
        await stream.aclose()
        return found

    found = asyncio.run(asyncio.wait_for(told(), 60))
    data = [line.removeprefix("data: ") for line in found.splitlines() if line.startswith('data: {"kind"')]
    assert data == [line.decode() for line in (*LINES, b'{"kind":"resumed"}')]
