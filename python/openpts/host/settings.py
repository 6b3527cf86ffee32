"""What of the host's settings and present state bears on a measurement; read before and after a run."""

from openpts.host.activities import activity_facts
from openpts.host.clock import clock_facts
from openpts.host.container import container_fact
from openpts.host.control_group import control_group_limits
from openpts.host.inventory import virtualization_fact
from openpts.host.load import load_facts
from openpts.host.memory_settings import memory_settings
from openpts.host.power_settings import power_settings, sleep_fact
from openpts.host.processor_settings import processor_settings
from openpts.host.services import service_facts, sleep_inhibitors
from openpts.host.thermal import thermal_fact
from openpts.programs import Run, run_program
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts


def host_settings(roots: SystemRoots, disk_number: str | None = None, run: Run = run_program) -> Facts:
    """Settings and states under the keys of the host audit, those of the drive's own way apart.

    ``disk_number`` is ``major:minor`` of the drive that is measured. Without root; never raises. Files only,
    but for timers and those who forbid to sleep, whom systemd is asked for where it runs.
    """
    return {
        **processor_settings(roots),
        **memory_settings(roots),
        **load_facts(roots),
        **power_settings(roots),
        "sleep": sleep_fact(roots, sleep_inhibitors(roots, run)),
        "thermal": thermal_fact(roots),
        "virtualization": virtualization_fact(roots),
        "container": container_fact(roots),
        **control_group_limits(roots, disk_number),
        **clock_facts(roots),
        **activity_facts(roots),
        **service_facts(roots, run),
    }
