"""Damaged log pages: each is decoded or refused in words, and what was decoded comes back.

``OPENPTS_LOG_PAGES`` is the number of pages; `make fuzz-logs` takes a million.
"""

import os
import random
from functools import cache

import pytest

from openpts_nvme.logs.page import Log, LogError, declared_logs, decode, whole_bytes
from tests.mutations.mutator import damaged
from tests.support.drawn_pages import drawn_page, has_values
from tests.support.encoded_pages import encode

_PAGES = int(os.environ.get("OPENPTS_LOG_PAGES", "5000"))
_PARTS = 20
_BASES = 16
# of so many that were decoded, one is encoded again, which takes longer
_LOOKS = 64
_LOGS = list(declared_logs().values())


@cache
def _base(number: int, place: int) -> bytes:
    log, draw = _LOGS[number], random.Random(place)
    return encode(log, drawn_page(log, draw))


def _damaged_page(log: Log, number: int, seed: int) -> bytes:
    draw = random.Random(seed)
    data = bytearray(_base(number, draw.randrange(_BASES)))
    kind = draw.randrange(4)
    if kind == 0:
        return damaged(bytes(data), seed)
    if kind == 1:
        data = bytearray(draw.randbytes(len(data)))
    for _ in range(draw.choice((1, 2, 8, 64))):
        data[draw.randrange(len(data))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    if kind == 2:
        del data[draw.randrange(len(data)) :]
    if (guid := log.guid_bytes) is not None and draw.random() < 0.9:
        data[log.guid_at : log.guid_at + len(guid)] = guid
    return bytes(data)


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_damaged_page_is_refused_or_comes_back(part: int) -> None:
    decoded = 0
    for seed in range(part, _PAGES, _PARTS):
        number = seed // _PARTS % len(_LOGS)
        log = _LOGS[number]
        data = _damaged_page(log, number, seed)
        try:
            page = decode(log, data)
        except LogError:
            continue
        decoded += 1
        assert whole_bytes(log, data[: log.length]) >= log.length
        assert all(reason for reason in page.impossible.values())
        if decoded % _LOOKS == 0:
            again = decode(log, encode(log, page.values, page.version))
            assert has_values(again.values, page.values)
    assert decoded > _PAGES // _PARTS // 3
