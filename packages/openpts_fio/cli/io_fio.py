"""`openpts io` and fio: job files in and out."""

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec

from openpts.errors import UsageError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.translation import Translation
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.jobs.job_file import flattened, read_jobs
from openpts_fio.jobs.translation import translate
from openpts_io.io_options import LoadArgs, is_given
from openpts_io.measure import MeasurementRequest


def translation_of(target: str, path: Path, values: tuple[str, ...], *, captured: bool) -> Translation:
    """The steps of ``--fio`` for a target. Raises UsageError with all that is wrong with the file."""
    of_a_stimulus = {field.name for field in fields(LoadArgs)}
    for parameter in click.get_current_context().command.params:
        if parameter.name in of_a_stimulus and is_given(parameter.name):
            raise UsageError(f"{parameter.opts[0]} and --fio exclude each other: the job file has the load")
    job = read_jobs(path, _values(values))
    translation = translate(job, UnopenedTarget.of(target, SystemRoots()).facts)
    if not captured:
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


def job_text(request: MeasurementRequest) -> str:
    """The request as a fio job file, each further step behind a stonewall.

    Raises UsageError on what fio cannot express.
    """
    facts = UnopenedTarget.of(request.target, SystemRoots()).facts
    setting = JobSetting(facts.path, direct=True, path=FioPath.IO_URING, seed=request.seed)
    texts = [job_file(step, setting, facts, number) for number, step in enumerate(request.steps)]
    return texts[0] if len(texts) == 1 else flattened(texts)


class JobFiles(NamedTuple):
    """A job file as the steps of a measurement, and a measurement as a job file."""

    translation: Callable[..., Translation]
    text: Callable[[MeasurementRequest], str]


JOB_FILES: Final = JobFiles(translation_of, job_text)
