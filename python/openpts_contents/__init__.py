"""What the distribution of openpts has, in the order in which an operator reads it: metadata have none.

It names tests, and imports none.
"""

from typing import Final

from openpts.plugins import Listing

_OF_THE_SPECIFICATION: Final = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")

# What erases the user's data in all its copies comes first, and of those what touches least besides: a
# format is over when its command is, and reaches one namespace where the drive can do that; a sanitize
# reaches the whole drive and can't be broken off, and there are drives on which it never ends. An erasure
# of the key comes behind one of the blocks, since it may leave them programmed. A discard only tells the
# drive what it may forget. What takes hours and wears the drive comes last; what is no purge, or needs a
# number from the drive's label, is never taken unasked.
_PURGES: Final = (
    "nvme-format",
    "nvme-sanitize-block",
    "nvme-format-crypto",
    "nvme-sanitize-crypto",
    "ata-sanitize-block",
    "ata-security-erase",
    "ata-sanitize-crypto",
    "ata-security-erase-enhanced",
    "scsi-sanitize-block",
    "scsi-format",
    "scsi-sanitize-crypto",
    "psid-revert",
    "discard",
    "nvme-sanitize-overwrite",
    "ata-sanitize-overwrite",
    "scsi-sanitize-overwrite",
    "overwrite",
)

LISTING: Final = Listing(
    tests=(
        *_OF_THE_SPECIFICATION,
        *("fill", "sustained", "entropy", "benchmarks", "precon", "thermal", "lifetime", "powercut", "trim"),
        *("qos", "workload", "replay", "app", "check", "ocp", "pstates"),
    ),
    suite=_OF_THE_SPECIFICATION,
    purges=_PURGES,
)
