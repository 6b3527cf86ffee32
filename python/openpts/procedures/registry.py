"""All tests of openpts: the only module that names them. Those of plug-ins are asked for by name."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, Union

from openpts.errors import RecordError
from openpts.escaped_text import visible
from openpts.plugins import Kind, load, offers
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts import cbw, dirth, hir, iops, lat, tp, wsat, xsr
from openpts_app import app, powercut
from openpts_fio import fiosynth, workload
from openpts_practice import benchmarks, entropy, fill, hdd, lifetime, precon, qos, sustained, thermal, trim
from openpts_traces import replay, rws, rwsdirth, score

PTS: Final[Mapping[str, Procedure]] = {
    folder.PROCEDURE.name: folder.PROCEDURE for folder in (iops, tp, lat, wsat, hir, xsr, cbw, dirth)
}
"""The eight tests by name, in the order of the specification."""

EXTENDED: Final[Mapping[str, Procedure]] = {
    folder.PROCEDURE.name: folder.PROCEDURE
    for folder in (
        fill,
        sustained,
        entropy,
        benchmarks,
        precon,
        thermal,
        lifetime,
        hdd,
        powercut,
        trim,
        qos,
        workload,
        replay,
        score,
        fiosynth,
        rws,
        rwsdirth,
        app,
    )
}
"""The tests of the practice beyond the specification."""

PROCEDURES: Final[Mapping[str, Procedure]] = {**PTS, **EXTENDED}

if TYPE_CHECKING:
    from openpts.fields.conditions import Conditions

    AnyConditions = Conditions
else:
    AnyConditions = Union[tuple(procedure.conditions for procedure in PROCEDURES.values())]  # noqa: UP007 made of a tuple
"""The conditions of any test, distinguished by their tag: what a record has."""


def in_test_order(names: Collection[str]) -> list[str]:
    """Names of tests, each once: those of openpts as they are listed here, then those of plug-ins."""
    return [*(test for test in PROCEDURES if test in names), *sorted(set(names) - PROCEDURES.keys())]


def procedure_of(name: str) -> Procedure:
    """The test of a record, of openpts or of a plug-in.

    Raises RecordError for one that no installed package has, PluginError for one of a broken plug-in.
    """
    if (procedure := PROCEDURES.get(name)) is not None:
        return procedure
    if (offer := offers(Kind.PROCEDURE).get(name)) is None:
        raise RecordError(f"no report for the test {visible(name)!r}; known: {', '.join(PROCEDURES)}")
    plugged_in: Procedure = load(offer)
    return plugged_in
