"""A point of a sweep: a test on a simulated drive, computed once, known by what it is made of."""

import time
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import openpts
from openpts.device.targets.simulated_target import parse_simulated_target
from openpts.errors import InterruptedRunError, OpenptsError
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import procedure_of
from openpts.record.batch import BatchEntry
from openpts.report.sources import read_for_report
from openpts.runner.order import Order
from openpts.runner.run import run_test
from openpts.runner.simulated_device import size_and_scale
from openpts.runner.telemetry import TelemetryChoice
from openpts.runs.flat_rows import flat_row
from openpts.simulation.presets import load_preset
from openpts.temporary_folder import in_memory, temporary_folder
from openpts.units import NS_PER_S
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.people import People
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.run_request import RunRequest
from openpts_many.sweep.axes import Combination

VERSION: Final = "1.0"
_BUILT_OF: Final = (".py", ".toml", ".so")


def point(combination: Combination, target: str, conditions: Conditions) -> BatchEntry:
    """A test on a simulated drive as an entry of a batch; the conditions have the seed.

    It is named by a hash of build, drive and conditions: points that have the same one have the same result.
    """
    drive = parse_simulated_target(target)
    preset = load_preset(drive.preset, drive.parameters)
    known = msgspec.to_builtins(conditions)
    # as they are read from batch.json: a whole number of a field for any is 5.0 there
    raw = msgspec.json.encode(msgspec.convert(known, type(conditions)))
    content = (build(), preset.text, *size_and_scale(drive, preset), drive.seed, drive.state)
    key = sha256(repr(content).encode() + raw).hexdigest()[:32]
    request = RunRequest(run_id=key, test_words=(conditions.test,), target=target, labels=dict(combination))
    return BatchEntry(request=request, folder=key, conditions=known)


def conditions_of(entry: BatchEntry) -> Conditions:
    """What a point was made with."""
    return msgspec.convert(entry.conditions, procedure_of(entry.test).conditions)


class PointResult(Struct, frozen=True, kw_only=True):
    """What came of a point.

    ``row`` is that of ``openpts export --csv-row``, empty where ``refused`` says why. ``virtual_s`` is the
    test's own time, ``processor_s`` what computing it took.
    """

    version: str = VERSION
    key: str
    build: str
    target: str
    row: dict[str, str | int | float | None] = {}
    refused: str = ""
    virtual_s: float = 0.0
    processor_s: float = 0.0


@cache
def build() -> str:
    """A hash of the program: its modules, presets, and the native part."""
    found = sha256()
    root = Path(openpts.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.suffix in _BUILT_OF:
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def compute(entry: BatchEntry) -> PointResult:
    """The result of a point, in this process. One that can't be run says why.

    Raises InterruptedRunError if the process is stopped meanwhile.
    """
    began_s = time.process_time()
    result = PointResult(key=entry.folder, build=build(), target=str(entry.request.target))
    with temporary_folder("point", in_memory()) as folder:
        try:
            order = _order(result.target, conditions_of(entry), folder / "run")
            run = read_for_report(run_test(procedure_of(entry.test), order, []).folder)
        except InterruptedRunError:
            raise
        except OpenptsError as error:
            return replace(result, refused=str(error).replace(f"{folder}/", ""))
        return replace(
            result,
            row=flat_row(run),
            virtual_s=sum(step.sample.elapsed_ns for step in run.steps) / NS_PER_S,
            processor_s=round(time.process_time() - began_s, 3),
        )


def _order(target: str, conditions: Conditions, folder: Path) -> Order:
    return Order(
        target=target,
        drive_class=conditions.drive_class,
        adjust=lambda _: conditions,
        consent=Consent(),
        purge_choice=PurgeChoice.AUTO,
        people=People(),
        command_line=(),
        folder=folder,
        seed=conditions.seed,
        telemetry=TelemetryChoice(None, None),
        pin_to_node=False,
    )
