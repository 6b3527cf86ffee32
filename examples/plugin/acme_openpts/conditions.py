"""The conditions of the test of block sizes."""

from typing import Annotated

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import SIZE, Field, listed


class BlockSizeConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="blocksizes"):
    """Random reads for ``minute_ns`` at each of ``block_sizes_bytes``."""

    parameters = ("block_sizes_bytes", "qd")

    block_sizes_bytes: Annotated[
        tuple[int, ...], Field("Block sizes", "Block sizes, one after the other.", listed(SIZE))
    ]
    qd: Annotated[int, usual.QD]
