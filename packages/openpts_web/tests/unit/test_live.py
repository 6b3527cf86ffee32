"""The stream of a run's events is its file, however often a reader comes again."""

import asyncio
import os
import random
import re
import tracemalloc
from collections.abc import Iterator
from contextlib import AbstractContextManager, aclosing
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs openpts[web]")

from openpts.ownership import RunOwner, folder_claimed, new_run_id
from openpts.record.writer import EVENTS_NAME
from openpts.system_files import SystemRoots
from openpts_web import live
from openpts_web.live import EventChunk, Viewers, has_events, next_piece

LINES = [b'{"kind":"note","text":"%s"}' % (b"x" * (number * 37 % 211)) for number in range(400)]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / EVENTS_NAME).write_bytes(b"".join(line + b"\n" for line in LINES))
    return tmp_path


def pieces(folder: Path, after: int = 0) -> Iterator[EventChunk]:
    while (piece := next_piece(folder, after)).end > after:
        yield piece
        after = piece.end


def lines(piece: EventChunk) -> list[tuple[int, bytes]]:
    """The lines that messages carry, with their ids, as a browser reads them."""
    found = re.findall(rb"id: (\d+)\ndata: (.*)\n\n", piece.messages)
    return [(int(end), line) for end, line in found]


def test_all_lines_are_there_with_their_ends(folder, monkeypatch) -> None:
    content = (folder / EVENTS_NAME).read_bytes()
    for size in (1, 7, 64, 1000, 1 << 20):
        monkeypatch.setattr(live, "_PIECE_BYTES", size)
        found = [line for piece in pieces(folder) for line in lines(piece)]
        assert [line for _, line in found] == LINES
        assert all(content[:end].endswith(line + b"\n") for end, line in found)


def test_a_reader_that_comes_again_misses_nothing_and_gets_nothing_twice(folder) -> None:
    chance = random.Random(1)
    everything = [line for piece in pieces(folder) for line in lines(piece)]
    for _ in range(50):
        read = chance.randrange(len(everything))
        last = everything[read - 1][0] if read else 0
        rest = [line for piece in pieces(folder, last) for line in lines(piece)]
        assert everything[:read] + rest == everything


def test_half_a_line_waits_for_its_end(folder) -> None:
    size = (folder / EVENTS_NAME).stat().st_size
    with (folder / EVENTS_NAME).open("ab") as file:
        file.write(b'{"kind":"no')
    assert next_piece(folder, size) == EventChunk(size, size)
    with (folder / EVENTS_NAME).open("ab") as file:
        file.write(b'te"}\n')
    assert lines(next_piece(folder, size)) == [(size + 16, b'{"kind":"note"}')]


def test_a_line_without_an_end_is_not_read_to_it(folder) -> None:
    """Of a file that another lab sent; each viewer would hold all of it."""
    with (folder / EVENTS_NAME).open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    tracemalloc.start()
    with pytest.raises(OSError, match="a line of more than 4,194,304 bytes"):
        next_piece(folder, 0)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    os.truncate(folder / EVENTS_NAME, 20 << 30)
    with pytest.raises(OSError, match="most of them holes"):
        next_piece(folder, 0)


def test_a_long_line_comes_whole(folder) -> None:
    line = b'{"kind":"note","text":"%s"}' % (b"x" * (2 << 20))
    (folder / EVENTS_NAME).write_bytes(line + b"\n" + LINES[0] + b"\n")
    assert [text for piece in pieces(folder) for _, text in lines(piece)] == [line, LINES[0]]


def test_what_is_no_file_has_no_events(tmp_path) -> None:
    (tmp_path / EVENTS_NAME).symlink_to("/etc/hostname")
    assert not has_events(tmp_path)
    (tmp_path / EVENTS_NAME).unlink()
    os.mkfifo(tmp_path / EVENTS_NAME)
    assert not has_events(tmp_path)


@pytest.mark.parametrize("after", [3, 10**9])
def test_an_id_of_another_file_begins_anew(folder, after) -> None:
    piece = next_piece(folder, after)
    assert piece.messages.startswith(b"event: again\n")
    assert lines(piece)[0][1] == LINES[0]


def test_what_comes_each_second_is_left_out_where_it_is_old(tmp_path, monkeypatch) -> None:
    often, rare = b'{"kind":"progress","ios":1}', b'{"kind":"step_finished"}'
    (tmp_path / EVENTS_NAME).write_bytes((often + b"\n" + rare + b"\n") * 20)
    monkeypatch.setattr(live, "_RECENT_BYTES", 3 * len(often + rare + b"\n\n"))
    found = [line for _, line in lines(next_piece(tmp_path, 0, only_recent=True))]
    assert found.count(rare) == 20
    assert 3 <= found.count(often) <= 4
    assert found[-2:] == [often, rare]


def test_no_link_is_read(tmp_path) -> None:
    (tmp_path / "secret").write_bytes(b'{"kind":"note"}\n')
    (tmp_path / EVENTS_NAME).symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic link"):
        next_piece(tmp_path, 0)


def test_a_stream_goes_on_through_the_end_and_the_resumption_of_a_run(folder, monkeypatch) -> None:
    monkeypatch.setattr(live, "_LOOK_S", 0.01)
    monkeypatch.setattr(live, "_ASK_S", 0.01)

    def claimed(*, again: bool) -> AbstractContextManager[None]:
        owner = RunOwner.this_process(run_id, "sim:x", (), SystemRoots())
        return folder_claimed(folder, owner, again=again)

    run_id = new_run_id()

    async def told() -> str:
        found = ""
        stream = Viewers().stream(folder, 0)

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


def test_many_viewers_get_all_lines_from_one_look(folder, monkeypatch) -> None:
    """Whenever they come, whatever they have, however slowly they read: in order, each line once."""
    monkeypatch.setattr(live, "_LOOK_S", 0.01)
    monkeypatch.setattr(live, "_VIEWERS_OF_A_LOOK", 1000)
    monkeypatch.setattr(live, "_PIECE_BYTES", 4096)
    chance = random.Random(1)
    reads = 0

    def counted(folder: Path, after: int, *, only_recent: bool = False) -> EventChunk:
        nonlocal reads
        reads += 1
        return next_piece(folder, after, only_recent=only_recent)

    monkeypatch.setattr(live, "next_piece", counted)
    ends = [0, *(end for end, _ in all_lines(folder))]
    viewers = Viewers()

    async def view(number: int) -> list[tuple[int, bytes]]:
        """Until the last line; every fifth viewer reads slowly."""
        await asyncio.sleep(chance.random() / 10)
        after, found = chance.choice(ends), b""
        async with aclosing(viewers.stream(folder, after)) as stream:
            async for words in stream:
                found += words
                if b'"last"' in words:
                    break
                await asyncio.sleep(0.03 * (number % 5 == 0))
        return [(after, b""), *lines(EventChunk(0, 0, found))]

    async def write() -> int:
        with (folder / EVENTS_NAME).open("ab", buffering=0) as file:
            for number in range(100):
                line = b'{"kind":"note","number":%d}\n' % number
                cut = chance.randrange(len(line))
                file.write(line[:cut])
                await asyncio.sleep(chance.random() / 200)
                file.write(line[cut:])
            await asyncio.sleep(0.3)
            before = reads
            for _ in range(20):
                file.write(b'{"kind":"note"}\n')
                await asyncio.sleep(0.02)
            file.write(b'{"kind":"last"}\n')
        return before

    async def all_of_it() -> tuple[int, list[list[tuple[int, bytes]]]]:
        looking = [asyncio.create_task(view(number)) for number in range(50)]
        return await write(), [await one for one in looking]

    before, found = asyncio.run(asyncio.wait_for(all_of_it(), 60))
    everything = all_lines(folder)
    for (begin, _), *got in found:
        assert got == [one for one in everything if one[0] > begin]
    assert reads - before < 150  # a look each 10 ms for half a second; fifty viewers by themselves: 2,500
    assert not viewers._watched


def all_lines(folder: Path) -> list[tuple[int, bytes]]:
    return [line for piece in pieces(folder) for line in lines(piece)]
