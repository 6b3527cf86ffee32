"""Gives figures the size of their I/Os if all have the same: IOPS and MB/s are one rate then."""

from collections.abc import Iterable

import msgspec

from openpts_pages.model import Block, Figure, Page


def with_transfer_size(pages: Iterable[Page], sizes_bytes: Iterable[int]) -> tuple[Page, ...]:
    """The pages of a test whose I/Os have these sizes; they stay as they are if there are several."""
    sizes = set(sizes_bytes)
    if len(sizes) != 1:
        return tuple(pages)
    (size,) = sizes
    return tuple(
        msgspec.structs.replace(page, blocks=tuple(_told(block, size) for block in page.blocks))
        for page in pages
    )


def _told(block: Block, size_bytes: int) -> Block:
    return msgspec.structs.replace(block, transfer_bytes=size_bytes) if isinstance(block, Figure) else block
