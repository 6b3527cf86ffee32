"""Entropy and Write Share: practice beyond the PTS."""

from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import WHOLE_PERCENT, Field, listed, percent
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.sample import Phase


class EntropyConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="entropy"):
    """Two sequential and random sweeps of the entropy of what is written, and one of the share of writes.

    ``precondition_passes`` counts in user capacities, written before the sequential sweep in its order and
    again before the random ones in theirs. ``entropies_pct`` are levels of entropy, ``write_pcts`` the shares
    of writes in mixes. Each level is measured for ``minute_ns`` on the way up and again on the way down.
    """

    parameters = ("segments", "tc", "qd", "sequential_tc", "sequential_qd", ...)

    sequential_block_size_bytes: Annotated[
        int, usual.SEQUENTIAL_BLOCK_SIZE.but(help="Block size of sequential writes.")
    ]
    sequential_tc: Annotated[int, usual.SEQUENTIAL_TC.but(help="Thread count of sequential writes.")]
    sequential_qd: Annotated[int, usual.SEQUENTIAL_QD.but(help="Queue depth of sequential writes.")]
    random_block_size_bytes: Annotated[
        int, usual.RANDOM_BLOCK_SIZE.but(help="Block size of random writes and mixes.")
    ]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(
            help="Times the user capacity written before the sequential sweep and before the random ones."
        ),
    ]
    entropies_pct: Annotated[
        tuple[float, ...],
        Field(
            "Entropies asked for (%)",
            "Entropy of what is written, as per cent of that of random bytes.",
            listed(percent(ge=0, le=100)),
        ),
    ]
    write_pcts: Annotated[
        tuple[int, ...],
        Field(
            "Shares of writes (%)",
            "Mixes as per cent of writes, in the order of the way up.",
            listed(WHOLE_PERCENT),
        ),
    ]


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=EntropyConditions,
    title="Entropy and Write Share",
    short_title="Entropy",
    question="Does the drive gain from data that can be compressed? What do a few writes cost a drive "
    "that reads?",
    purpose="""Whether a drive gains from data that can be compressed, and what few writes cost its reads.

    At full length: the user capacity written twice in sequence, 12 minutes of sequential writes at six levels
    of entropy. The same at random: the user capacity written twice, and 12 minutes at the same levels. Then
    42 minutes of mixes with 0 to 100 % of writes. Each level is measured twice, up and down.
    """,
    quick={"time_scale": "1/60", "precondition_passes": 0.5, "write_pcts": [0, 5, 50, 100]},
    log_around=frozenset({Phase.SWEEP}),
)
