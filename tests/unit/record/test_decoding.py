"""Decoding in several threads, of which none may be the first to use a type while another does."""

import sys
from threading import Barrier, Thread
from typing import Annotated

import msgspec
from msgspec import Meta

from openpts.record.decoding import decode_json
from tests.support.processes import in_process

THREADS, TYPES, FIELDS = 4, 40, 200


def decoded_in_threads() -> list[int]:
    """The last field of each type from each thread; msgspec alone ends the process here."""
    sys.setswitchinterval(1e-6)
    numbers = range(FIELDS)
    kinds = [
        msgspec.defstruct(
            f"Kind{kind}", [(f"f{n}", Annotated[int, Meta(ge=n + kind)] | None) for n in numbers]
        )
        for kind in range(TYPES)
    ]
    text = msgspec.json.encode({f"f{n}": 1000 + n for n in numbers})
    begun, found = Barrier(THREADS), list[int]()

    def use() -> None:
        for kind in kinds:
            begun.wait()
            found.append(getattr(decode_json(text, kind), f"f{FIELDS - 1}"))

    threads = [Thread(target=use) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_type_is_first_used_by_one_thread() -> None:
    assert in_process(decoded_in_threads) == [1000 + FIELDS - 1] * (THREADS * TYPES)
