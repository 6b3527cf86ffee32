"""Fixtures of tests that run inside the lab's machine."""

from tests.support.loop_devices import attach, cleanup, mount, roots, run

__all__ = ["attach", "cleanup", "mount", "roots", "run"]
