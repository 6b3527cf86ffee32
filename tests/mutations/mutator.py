"""Damage with a seed: the same number gives the same damaged input, on any machine."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

NUMBERS: Final = (
    *b"0 -1 1 -0.0 0.001 1e308 1e999 -1e999 nan inf 1.5 31536000 255 65536 2147483648".split(),
    *(b"9223372036854775807", b"9223372036854775808", b"1" * 40, b"9" * 5000),
)
WORDS: Final = (
    *(
        b"\xff",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\x00",
        b"\\ud800",
        b"\\udfff\\ud800",
        b"\xe2\x80\xae",
        b"\x1b[",
    ),
    *b"\" ' { } [ ] [[ : , = # % ? & null true NaN Infinity 0x7f 1_000 complete round read".split(),
    *(b"", b"\n", b"\r\n", b"\t", b"&a *a", b"!!python/object:os.system", b"1979-05-27T07:32:00Z"),
    *(b"[" * 400, b'{"a":' * 1200, b"- " * 800, b"A" * 4000),
)
_NUMBER: Final = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")


def damaged(content: bytes, seed: int) -> bytes:
    """The content with one to four changes."""
    chance = random.Random(seed)
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        chance.choice(_CHANGES)(changed, chance)
    return bytes(changed)


def _flip(content: bytearray, chance: random.Random) -> None:
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _overwrite(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) + 1)
    content[place : place + chance.choice((1, 2, 4, 8))] = chance.randbytes(chance.choice((1, 2, 4, 8)))


def _remove(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) + 1)
    del content[place : place + chance.choice((1, 1, 4, 30, 300))]


def _cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content) + 1) :]


def _repeat(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) + 1)
    piece = content[place : place + chance.choice((1, 8, 40, 200))]
    content[place:place] = piece * chance.choice((1, 1, 2, 20))


def _insert(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) + 1)
    content[place:place] = chance.choice(WORDS)


def _renumber(content: bytearray, chance: random.Random) -> None:
    """Another number in the place of one: what a person's slip or a program's mistake looks like."""
    start = chance.randrange(len(content) + 1)
    if match := _NUMBER.search(content, start) or _NUMBER.search(content):
        content[match.start() : match.end()] = chance.choice(NUMBERS)


def _swap_lines(content: bytearray, chance: random.Random) -> None:
    lines = content.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    content[:] = b"\n".join(lines)


_CHANGES: Final[Sequence[Callable[[bytearray, random.Random], None]]] = (
    *(_flip, _overwrite, _remove, _cut, _repeat, _swap_lines),
    *(_insert, _insert, _renumber, _renumber, _renumber),
)
