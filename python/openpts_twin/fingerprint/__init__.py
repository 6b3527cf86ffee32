"""Fingerprint: practice beyond the PTS."""

from typing import Annotated, Final

from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import Field
from openpts.fields.kinds import SECONDS
from openpts.procedures.kit.procedure import Procedure


class FingerprintConditions(
    ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="fingerprint"
):
    """Short loads whose figures follow from a drive's parts; ``probe_ns`` is the length of those with one.

    ``scale`` is that of a simulated drive, whose buffer is not scaled.
    """

    probe_ns: Annotated[
        int,
        Field(
            "Length of a load", "Length of each load that ends after a time.", SECONDS, name="probe_seconds"
        ),
    ]
    scale: Annotated[
        int, Field("Scale of the simulated drive", free="what is simulated of an amount, not what is done")
    ] = 1


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=FingerprintConditions,
    title="Fingerprint",
    short_title="Fingerprint",
    question="Is this the drive that it was, with the same parts inside?",
    purpose="""Figures by which `openpts fingerprint` tells whether two drives have the same parts.

    At full length: a purge, the user capacity written once in sequence, response times of reads and writes of
    several sizes, random writes until the drive has to collect, and bursts that fill its write buffer.
    """,
    quick={"probe_seconds": 5},
    phase_line="openpts_twin.fingerprint.phase_line:phase_line",
)
