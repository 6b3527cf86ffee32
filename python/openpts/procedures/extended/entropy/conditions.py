"""The conditions of the sweeps of data entropy and of the share of writes."""

from openpts.vocabulary.conditions import ExtendedConditions


class EntropyConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="entropy"):
    """Two sequential and random sweeps of the entropy of what is written, and one of the share of writes.

    ``precondition_passes`` counts in user capacities, written before the sequential sweep in its order and
    again before the random ones in theirs. ``entropies_pct`` are levels of entropy, ``write_pcts`` the shares
    of writes in mixes. Each level is measured for ``minute_ns`` on the way up and again on the way down.
    """

    sequential_block_size_bytes: int
    sequential_tc: int
    sequential_qd: int
    random_block_size_bytes: int
    tc: int
    qd: int
    precondition_passes: float
    entropies_pct: tuple[float, ...]
    write_pcts: tuple[int, ...]
