"""Targets of performance, each with its source and what measures it."""

import tomllib
from importlib.resources import files

import msgspec
from msgspec import Struct

from openpts_fio.trim_targets import TRIMS, TrimTarget
from openpts_nvme.dssd.answers import NOT_ASKED, Answers
from openpts_pages.kit import rows_table
from openpts_pages.model import Table

_TRIM_TESTS = "openpts run trim; a suite of FioSynth by its own targets, which its report shows beside these"


class OcpTarget(Struct, frozen=True, forbid_unknown_fields=True):
    """What is ``asked`` by a requirement, what was ``measured``, and which test of openpts does that else."""

    requirement: str
    title: str
    asked: str
    test: str
    measured: str = ""


def targets(answers: Answers) -> list[OcpTarget]:
    """All targets, in the specification's order."""
    text = files(__package__).joinpath("targets.toml").read_text()
    suite, *rest = msgspec.convert(tomllib.loads(text), dict[str, list[OcpTarget]])["target"]
    return [suite, *(_of_trims(each, answers) for each in TRIMS), *rest]


def _of_trims(target: TrimTarget, answers: Answers) -> OcpTarget:
    name = f"M.trims_of_{target.size.replace(' ', '_')}"
    rate, p99 = (answers.get(f"{name}_{figure}", NOT_ASKED).data for figure in ("gib_per_s", "p99_ms"))
    return OcpTarget(
        "META-PERF-2",
        f"Trims of {target.size}, nothing beside them",
        f"{target.gib_per_s:g} GiB/s or more, P99 of {target.p99_ms:g} ms or less",
        _TRIM_TESTS,
        f"{float(rate):,.3g} GiB/s, P99 of {float(p99):,.3g} ms" if rate and p99 else "",
    )


def targets_table(answers: Answers) -> Table:
    """The targets beside what was measured, and the tests that measure the others."""
    return rows_table(
        "ocp-targets",
        "Targets of performance",
        "Requirement:<0.7 | Of:<1.4 | OCP 2.7 asks for:<1.4 | Measured here:<1 | Else measured by:<1.4",
        ((one.requirement, one.title, one.asked, one.measured, one.test) for one in targets(answers)),
        note="Targets of one customer, without a verdict. A suite of FioSynth has its own in its file, which "
        "may differ.",
    )
