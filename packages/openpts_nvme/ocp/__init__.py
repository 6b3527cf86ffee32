"""OCP Datacenter NVMe SSD 2.7: practice beyond the PTS."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, ClassVar, Final

from openpts.fields.conditions import Contradictions, ExtendedConditions
from openpts.fields.field import SWITCH, Field, ValueType
from openpts.procedures.kit.procedure import Procedure


class OcpConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="ocp"):
    """``read_only``: neither contents nor settings are changed. ``firmware``: path of an image to run."""

    parameters = ("read_only", "firmware")
    unused: ClassVar[frozenset[str]] = frozenset(map(str, ExtendedConditions.parameters))

    read_only: Annotated[
        bool,
        Field(
            "Nothing written",
            "Change neither contents nor settings: what needs that is not checked.",
            SWITCH,
            free="how much is checked",
        ),
    ] = False
    firmware: Annotated[
        str,
        Field(
            "Firmware image",
            "Put this image of the vendor's into a slot, let it run, then what ran before; a damaged copy "
            "must be refused. Without an image, firmware is left alone.",
            ValueType(str, metavar="IMAGE", beside=lambda word, folder: str(Path(folder) / word)),
            free="how much is checked",
        ),
    ] = ""

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Firmware is written."""
        del given
        if self.firmware and self.read_only:
            yield ("read_only", "firmware"), "firmware is downloaded and runs, where nothing shall be changed"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=OcpConditions,
    title="OCP Datacenter NVMe SSD 2.7",
    short_title="OCP 2.7",
    question="Does the drive meet the OCP Datacenter NVMe SSD Specification, as far as its host can see?",
    purpose="""Each requirement of OCP's Datacenter NVMe SSD Specification 2.7, with verdict and evidence.

    The drive is asked for its structures, logs, features, registers and capabilities. Features are set and
    set back, the controller is reset, deallocation, formats and sanitizes are timed. What only the vendor, a
    switch of the power or an analyzer can show is listed with the reason. Untried on hardware.
    """,
    quick={"read_only": True},
    purges=False,
    has_limits=True,
    driver="openpts_nvme.drivers.dssd.driver:OcpDriver",
    target_help="""
    TARGET is an NVMe drive such as /dev/nvme0n1: all on it is lost, except with --read-only.
""",
)
"""The conditions of the test of OCP's specification."""
