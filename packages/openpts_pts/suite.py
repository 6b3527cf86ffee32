"""The eight tests."""

from collections.abc import Mapping
from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_pts import cbw, dirth, hir, iops, lat, tp, wsat, xsr

PTS: Final[Mapping[str, Procedure]] = {
    folder.PROCEDURE.name: folder.PROCEDURE for folder in (iops, tp, lat, wsat, hir, xsr, cbw, dirth)
}
"""By name, in the order of the specification."""
