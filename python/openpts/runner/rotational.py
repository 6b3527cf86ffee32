"""A disk with platters under a test of the specification, which is made for solid state storage."""

from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import ROTATIONAL, Facts, has_platters, media_of


def rotational_deviations(dut: Facts, *, of_specification: bool) -> tuple[Deviation, ...]:
    """The entry of a rotational disk; none for other or unknown media, or for practice tests."""
    if not of_specification or not has_platters(dut):
        return ()
    return (
        Deviation(
            rule_id="PTS-GEN-01",
            clause="1.1",
            required="a solid state storage device",
            used=media_of(dut) or ROTATIONAL,
            effect="purge, preconditioning and steady state mean little on platters; "
            "`openpts run hdd` is made for them",
        ),
    )
