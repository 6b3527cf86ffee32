"""A disk with platters under a test of the specification, which is made for solid state storage."""

from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Facts

_ROTATIONAL = "rotational"


# PTS-GEN-01
def rotational_deviations(dut: Facts, *, of_specification: bool) -> tuple[Deviation, ...]:
    """The entry of a rotational disk; none of other media, where nobody tells, or for tests of practice."""
    told = dut["media"].value if "media" in dut else None
    if not of_specification or told is None or not told.startswith(_ROTATIONAL):
        return ()
    return (
        Deviation(
            rule_id="PTS-GEN-01",
            clause="1.1",
            required="a solid state storage device",
            used=told,
            effect="purge, preconditioning and steady state mean little on platters; "
            "`openpts run hdd` is made for them",
        ),
    )
