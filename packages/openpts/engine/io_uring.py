"""Why this process gets no io_uring: what the kernel, its settings and a container's filter say of it."""

from typing import Final

from openpts.system_files import SystemRoots, read_integer, read_lines

_REFUSALS: Final = ("(os error 1)", "(os error 38)")
"""EPERM, as Docker's filter and the setting answer, and ENOSYS, as Podman's does."""
_FOR_PRIVILEGED, _FOR_NONE = 1, 2


def refused_by(error: str, roots: SystemRoots) -> str:
    """What refuses io_uring, and what lets it; ``error`` is the kernel's answer, with its number."""
    if not any(number in error for number in _REFUSALS):
        return "it needs Linux 5.11 or later, and memory that may be locked (`ulimit -l`)"
    setting = read_integer(roots.proc / "sys/kernel/io_uring_disabled")
    if setting in {_FOR_PRIVILEGED, _FOR_NONE}:
        return (
            f"kernel.io_uring_disabled is {setting}: as root, `sysctl kernel.io_uring_disabled=0` allows it"
        )
    if "Seccomp: 2" in read_lines(roots.proc / "self/status"):
        return (
            "a seccomp filter of the container or the service refuses it: start that with one which "
            "allows io_uring_setup, io_uring_enter and io_uring_register, or with `seccomp=unconfined`"
        )
    return "the kernel has no io_uring: it needs Linux 5.11 or later, built with CONFIG_IO_URING"
