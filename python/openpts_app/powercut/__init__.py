"""Power Cuts: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_app.powercut.conditions import PowerCutConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=PowerCutConditions,
    title="Power Cuts",
    short_title="Power Cuts",
    purpose="""Whether a drive keeps through power cuts what it has to keep: acknowledged data.

    At full length: 50 cuts with the volatile write cache on and 50 with it off, each in the middle of some 10
    s of random writes with flushes, then all of the written range read back. --cut-command cuts the power of
    the drive and gives it back; a simulated drive needs none. Ends with status 7 if data were lost.
    """,
    quick={"cycles": 3, "load_seconds": 1, "range": "16MiB"},
    purges=False,
    driver="openpts_app.drivers.power_cut.driver:PowerCutDriver",
)
