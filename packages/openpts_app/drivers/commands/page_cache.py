"""Empties the kernel's page cache, so that what a program reads comes from the drive."""

import os
from typing import Final

from openpts.system_files import SystemRoots
from openpts_host.setting_file import HostSettingError, write_request

_ALL: Final = "3"
"""Pages, and the inodes and directory entries of file systems."""


def drop_page_cache(roots: SystemRoots) -> str:
    """Write all dirty pages back and drop the clean ones; empty, or why that was not possible."""
    os.sync()
    try:
        write_request(roots.proc / "sys/vm/drop_caches", _ALL, roots)
    except HostSettingError as error:
        return str(error)
    return ""
