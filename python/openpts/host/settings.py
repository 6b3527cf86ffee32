"""What of the host's settings and present state bears on a measurement; read before and after a run."""

from openpts.host.clock import clock_facts
from openpts.host.inventory import virtualization_fact
from openpts.host.load import load_facts
from openpts.host.processor_settings import processor_settings
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts


def host_settings(roots: SystemRoots) -> Facts:
    """Settings and states under the keys of the host audit, those of the drive's own way apart.

    Files only, without root and without other programs; never raises.
    """
    return {
        **processor_settings(roots),
        **load_facts(roots),
        "virtualization": virtualization_fact(roots),
        **clock_facts(roots),
    }
