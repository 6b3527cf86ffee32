"""How the kernel deals with memory: huge pages, moving of pages, paging. Read without root."""

from openpts.system_files import SystemRoots, chosen_word, read_text
from openpts.vocabulary.facts import Fact, Facts


def memory_settings(roots: SystemRoots) -> Facts:
    """The settings under the keys of the host audit."""
    huge_pages = roots.sys / "kernel/mm/transparent_hugepage/enabled"
    balancing = roots.proc / "sys/kernel/numa_balancing"
    swappiness = roots.proc / "sys/vm/swappiness"
    return {
        "thp": Fact(chosen_word(read_text(huge_pages)), str(huge_pages)),
        "numa_balancing": Fact(read_text(balancing), str(balancing)),
        "swappiness": Fact(read_text(swappiness), str(swappiness)),
    }
