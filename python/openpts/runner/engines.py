"""Engines on open targets."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from openpts.device.link.nearby_cpus import cpus_near
from openpts.device.nvme.nvme_generic import open_nvme_generic
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.system_files import SystemRoots


def pinned_near(target: OpenTarget, options: NativeOptions, first_thread: int = 0) -> NativeOptions:
    """The options with the threads pinned to the processors of the target's NUMA node.

    Only to those that this process may run on. ``first_thread`` counts the threads that others have
    there already: theirs come first.
    """
    cpus = tuple(cpu for cpu in cpus_near(target, SystemRoots()) if cpu in os.sched_getaffinity(0))
    start = first_thread % len(cpus) if cpus else 0
    return replace(options, cpus=cpus[start:] + cpus[:start])


@contextmanager
def native_engine(
    target: OpenTarget, demand: Demand, seed: int, options: NativeOptions
) -> Iterator[NativeEngine]:
    """The native engine on the way to the target that the options name; stopped at the end.

    Raises TargetError where the target has no such way, EngineUnavailableError where the kernel has none.
    """
    passthrough = options.io_path is IoPath.NVME_PASSTHROUGH
    with open_nvme_generic(target) if passthrough else nullcontext(target.fd) as descriptor:
        engine = NativeEngine(descriptor, target.facts, demand, seed, options)
        try:
            yield engine
        finally:
            engine.stop()
