"""`openpts io` and fio: job files in and out, and fio's spellings of our options."""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import click
import msgspec
from click.core import ParameterSource

from openpts.cli.io_options import StopArgs
from openpts.cli.io_stimulus import PACINGS, PLACEMENTS, StimulusWords
from openpts.errors import UsageError
from openpts.runner.measure import MeasurementOrder
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.jobs.directions import ORDERS
from openpts_fio.jobs.job_file import flattened, read_jobs
from openpts_fio.jobs.translation import Translation, translate
from openpts_fio.jobs.values import KIB_BASE, READ, TRIM, ValueTextError, time_ns, weighted_sizes

_MIXES: Final = ("rw", "readwrite", "randrw")
_SPELLINGS: Final = ("rw", "rwmixread", "bssplit", "runtime")

_OF_A_STIMULUS: Final = (
    {field.name for kind in (StimulusWords, StopArgs) for field in fields(kind)}
    | {option.removeprefix("--") for option in (*PLACEMENTS, *PACINGS)}
    | {"ramp", *_SPELLINGS}
)


def in_own_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with fio's spellings replaced by ours. Raises UsageError where both are given."""
    own = {name: value for name, value in options.items() if name not in _SPELLINGS}
    if options.get("rw") is not None:
        own |= _operations(options["rw"], options)
    elif options.get("rwmixread") is not None:
        raise UsageError("--rwmixread applies to --rw randrw: use --mix otherwise")
    if options.get("bssplit") is not None:
        _refuse_both("--bssplit", {"bs": "--bs"})
        own["bs"] = _sizes(options["bssplit"])
    if options.get("runtime") is not None:
        _refuse_both("--runtime", {"seconds": "--seconds"})
        try:
            own["seconds"] = time_ns(options["runtime"], NS_PER_S) / NS_PER_S
        except ValueTextError as error:
            raise UsageError(f"invalid --runtime {options['runtime']!r}: {error}") from error
        if not own["seconds"]:
            raise UsageError("invalid --runtime 0: a time of 0 does nothing")
    return own


def _operations(word: str, options: Mapping[str, Any]) -> dict[str, Any]:
    _refuse_both("--rw", {"mix": "--mix", "ops": "--ops", "trim": "--trim", "pattern": "--pattern"})
    directions, random = ORDERS[word]
    read_pct = options.get("rwmixread")
    if read_pct is not None and word not in _MIXES:
        raise UsageError(f"--rwmixread applies to --rw randrw, not to --rw {word}")
    own: dict[str, Any] = {}
    if not (random and options.get("random_pct") is not None):
        own["pattern"] = "random" if random else "sequential"
    if word in _MIXES:
        read_pct = 50 if read_pct is None else read_pct
        return own | {"mix": f"{read_pct}/{100 - read_pct}"}
    if directions == (TRIM,):
        return own | {"ops": "trim=1"}
    return own | {"mix": "100/0" if directions == (READ,) else "0/100"}


def _sizes(text: str) -> str:
    try:
        return ",".join(f"{size}:{weight}" for size, weight in weighted_sizes(text, KIB_BASE).items())
    except ValueTextError as error:
        raise UsageError(f"invalid --bssplit {text!r}: {error}") from error


def _given(name: str) -> bool:
    """Whether the option was written on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in {None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}


def _refuse_both(option: str, others: Mapping[str, str]) -> None:
    for name, other in others.items():
        if _given(name):
            raise UsageError(f"{option} and {other} exclude each other: give one of them")


def translation_of(target: str, options: Mapping[str, Any]) -> Translation:
    """The steps of ``--fio`` for a target. Raises UsageError with all that is wrong with the file."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in _OF_A_STIMULUS and _given(parameter.name):
            raise UsageError(f"{parameter.opts[0]} and --fio exclude each other: the job file has the load")
    job = read_jobs(options["fio_job"], _values(options["fio_values"]))
    translation = translate(job, UnopenedTarget.of(target, SystemRoots()).facts)
    if options["capture"] is None:
        return translation
    steps = tuple(msgspec.structs.replace(step, capture=True) for step in translation.steps)
    return Translation(steps, translation.ignored, translation.notes)


def _values(words: tuple[str, ...]) -> dict[str, str]:
    values = dict(os.environ)
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UsageError(f"invalid --fio-value {word!r}: use NAME=VALUE")
        values[name] = value
    return values


def job_text(order: MeasurementOrder) -> str:
    """The order as a fio job file, each further step behind a stonewall.

    Raises UsageError on what fio cannot express.
    """
    facts = UnopenedTarget.of(order.target, SystemRoots()).facts
    setting = JobSetting(facts.path, direct=True, path=FioPath.IO_URING, seed=order.seed)
    texts = [job_file(step, setting, facts, number) for number, step in enumerate(order.steps)]
    return texts[0] if len(texts) == 1 else flattened(texts)
