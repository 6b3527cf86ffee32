"""Runs on several drives, and of several tests: who brings them, by parts that are loaded on first use."""

from typing import Any

from openpts.errors import UsageError
from openpts.plugins import Kind, Parts, first


class Several(Parts, frozen=True):
    """Parts are ``module:object``.

    ``options`` are those of a run that make it one on several drives; ``refuse_alone`` refuses what makes no
    sense of one. ``run`` (test, options, limits, and what those options gave) carries it out, ``prospect``
    (targets, stream) says what a run on them would be. ``resume`` and ``resume_suite`` continue with one that
    was cut off. ``as_recorded`` and ``write_index`` are for reports of a batch: its entries, and their page.
    """

    name: str
    options: str
    refuse_alone: str
    run: str
    prospect: str
    resume: str
    resume_suite: str
    as_recorded: str
    write_index: str


def several() -> Several:
    """What runs on several drives. Raises UsageError where there is nothing that does, PluginError."""
    found: Several | None = first(Kind.BATCH)
    if found is None:
        raise UsageError("this installation runs one test on one drive at a time: install openpts again")
    return found


def several_options() -> tuple[Any, ...]:
    """The options of a run on several drives; none where there is nothing that runs it."""
    found: Several | None = first(Kind.BATCH)
    return () if found is None else tuple(found.part("options"))
