"""Entropy and Write Share: practice beyond the PTS."""

from typing import Final

from openpts.procedures.extended.entropy.conditions import EntropyConditions
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=EntropyConditions,
    title="Entropy and Write Share",
    short_title="Entropy",
    purpose="""Whether a drive gains from data that can be compressed, and what few writes cost its reads.

    At full length: the user capacity written twice in sequence, 12 minutes of sequential writes at six levels
    of entropy, the user capacity written twice at random, 12 minutes of random writes at the same levels, and
    42 minutes of mixes with 0 to 100 % of writes. Each level is measured twice, up and down.
    """,
    quick={"time_scale": "1/60", "precondition_passes": 0.5, "write_pcts": [0, 5, 50, 100]},
    log_around=frozenset({Phase.SWEEP}),
)
