"""Lifetime: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_practice.lifetime.conditions import LifetimeConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=LifetimeConditions,
    title="Lifetime",
    short_title="Lifetime",
    purpose="""Speed, errors and wear over drive cycles: the whole range written, then read and compared.

    USES THE DRIVE UP: each cycle takes one of the few hundred to few thousand that its flash has. It ends
    after 5 cycles unless --cycles asks for more, when 100 % of the rated life are used, after a week, or with
    the first error.
    """,
    quick={"cycles": 2},
    resumes=True,
)
