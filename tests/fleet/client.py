"""A program on the head that calls a backend for a test, each call in a thread, by JSON lines."""

import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from openpts.errors import OpenptsError
from openpts.vocabulary.run_request import RunRequest
from openpts_many.fleet.configuration import read_fleet
from openpts_many.fleet.observation import Observation
from openpts_many.fleet.slurm import SlurmBackend


class Call(msgspec.Struct):
    """``verb`` is a method of the backend."""

    number: int
    verb: str
    run_id: str = ""
    request: RunRequest | None = None
    options: dict[str, bool] = msgspec.field(default_factory=dict)


class Answer(msgspec.Struct):
    """What a call returned, or the error that it raised."""

    number: int
    observed: Observation | None = None
    error: str = ""


def main() -> None:
    backend = SlurmBackend(read_fleet(Path(sys.argv[1])))
    turn = threading.Lock()

    def carry_out(call: Call) -> None:
        try:
            method: Any = getattr(backend, call.verb)
            answer = Answer(call.number, method(call.request or call.run_id, **call.options))
        except OpenptsError as error:
            answer = Answer(call.number, error=str(error))
        with turn:
            sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
            sys.stdout.flush()

    for line in sys.stdin.buffer:
        threading.Thread(target=carry_out, args=[msgspec.json.decode(line, type=Call)], daemon=True).start()


if __name__ == "__main__":
    main()
