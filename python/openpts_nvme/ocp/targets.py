"""Targets of performance, each with its source and the test that measures it."""

import tomllib
from importlib.resources import files

import msgspec
from msgspec import Struct

from openpts.pages import cells
from openpts.pages.kit import Col, table
from openpts.pages.model import Cell, Table


class Target(Struct, frozen=True, forbid_unknown_fields=True):
    """What is ``asked`` by a requirement, and which test of openpts measures it."""

    requirement: str
    title: str
    asked: str
    test: str


def targets() -> list[Target]:
    """All targets, in the specification's order."""
    text = files(__package__).joinpath("targets.toml").read_text()
    return msgspec.convert(tomllib.loads(text), dict[str, list[Target]])["target"]


def targets_table() -> Table:
    """The targets beside their tests: this test measures none of them."""
    head: Col[Target] = Col("Requirement", lambda one: Cell(one.requirement), align="left", width=0.7)
    return table(
        "ocp-targets",
        "Targets of performance, which other tests measure",
        head,
        [
            Col("Of", lambda one: cells.words(one.title), align="left", width=1.4),
            Col("OCP 2.7 asks for", lambda one: cells.words(one.asked), align="left", width=1.4),
            Col("Measured by", lambda one: cells.words(one.test), align="left", width=1.4),
        ],
        targets(),
        note="Targets of one customer. A suite of FioSynth has its own in its file, which may differ.",
    )
