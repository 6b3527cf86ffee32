"""openpts measures what a solid-state drive really does once it has settled.

From a notebook, with a run folder:

    import openpts

    run = openpts.read_run("openpts-runs/R1AL-20261120T220000Z-iops")
    pandas.DataFrame(run.frame("steps"))
    pandas.DataFrame(run.key_values())
    openpts.measures(run)
    openpts.vega_lite(run)["iops-a7-plot"]
    openpts.build_report(run).title
    openpts.compare(["runs/old-firmware", "runs/new-firmware"])
    openpts.gate(["runs/new-firmware"], ["iops.rnd-4k-rw0 >= 180 k"]).verdict

All errors that these raise are subclasses of ``openpts.OpenptsError``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from openpts.api import build_report, measure, measures, read_run, read_runs, run_test, vega_lite
    from openpts.errors import NoRecordError, OpenptsError, RecordError, UsageError
    from openpts.record.reader import Run
    from openpts_pages.measure import Measured
    from openpts_pages.model import Report

    compare: Callable[..., Any]
    gate: Callable[..., Any]

__all__ = [
    "Measured",
    "NoRecordError",
    "OpenptsError",
    "RecordError",
    "Report",
    "Run",
    "UsageError",
    "build_report",
    "compare",
    "gate",
    "measure",
    "measures",
    "read_run",
    "read_runs",
    "run_test",
    "vega_lite",
]

# Loaded when first asked for: a command must not load what it does not need.
_PLACES = {
    "Measured": "openpts_pages.measure",
    "NoRecordError": "openpts.errors",
    "OpenptsError": "openpts.errors",
    "RecordError": "openpts.errors",
    "Report": "openpts_pages.model",
    "Run": "openpts.record.reader",
    "UsageError": "openpts.errors",
}
_OF_PLUGINS = ("compare", "gate")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _OF_PLUGINS:
        return import_module("openpts.plugins").function(name)
    return getattr(import_module(_PLACES.get(name, "openpts.api")), name)


def __dir__() -> list[str]:
    return __all__
