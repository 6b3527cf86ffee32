"""Purge: bring the target as near as possible to never having been used (PTS 3.2), and prove it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.purge.choose import ChosenMethods, choose
from openpts.device.purge.file_blocks import FileBlocks
from openpts.device.purge.method import ByPsid, Progress, PurgeMethod
from openpts.device.purge.proof import Proof, SampledSectors
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, PurgeImpossibleError
from openpts.vocabulary.facts import PurgeAttempt, PurgeReport
from openpts.vocabulary.purge import PurgeChoice

NO_METHOD: Final = "NOT RUN"


class PurgeClock(Struct, frozen=True):
    """The time of day and a steady count of ns."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic_ns: Callable[[], int] = time.monotonic_ns


_WALL_CLOCK: Final = PurgeClock()


def _unshown(_share: float | None, _text: str) -> None:
    """Discard the progress."""


def chosen_methods(target: OpenTarget, choice: PurgeChoice) -> ChosenMethods:
    """What a purge of a target would try. Raises OpenptsError where it would refuse before touching it."""
    if target.device is None:
        if choice.methods:
            raise PurgeError(f"{target.facts.path} is a file, which {choice} can't purge: remove --purge")
        return ChosenMethods((FileBlocks(),), ())
    if not target.device.folder.exists():
        raise PurgeError(f"{target.device.node} has gone away: see dmesg")
    return choose(choice, target.device, frozenset(sibling.facts.path for sibling in target.siblings))


def purge(
    target: OpenTarget,
    choice: PurgeChoice = PurgeChoice.AUTO,
    progress: Progress = _unshown,
    clock: PurgeClock = _WALL_CLOCK,
    psid: Callable[[], bytes] | None = None,
) -> PurgeReport:
    """Purge a target and prove it: random marks all over it, read back before, must be gone afterwards.

    Where the operator named several methods, one that fails is entered in the report and the next is
    tried. Raises PurgeError if the target has no purge, if all that was to be tried fails, and if a single
    mark is still there after a method that reported success. The report's duration is that of its own
    method alone. ``psid`` gives the number on the drive's label to a method that needs it.
    """
    chosen = chosen_methods(target, choice)
    attempts = list(chosen.left_out)
    for method in chosen.methods:
        if psid is not None and isinstance(method, ByPsid):
            method = method.with_psid(psid)  # noqa: PLW2901 the same method, with what it needs
        try:
            report = _purge_by(method, target, progress, clock)
        except PurgeError as error:
            if len(choice.methods) < 2:
                raise
            attempts.append(PurgeAttempt(method.name, str(error)))
        else:
            return replace(report, attempts=tuple(attempts))
    reported = "; ".join(f"{attempt.method}: {attempt.outcome}" for attempt in attempts)
    raise PurgeImpossibleError(f"none of {choice} has purged {target.facts.path}: {reported}")


def no_purge(reason: str, clock: PurgeClock = _WALL_CLOCK) -> PurgeReport:
    """The report of a purge that was left out, with the reason (PTS 3.2 asks to disclose it)."""
    return PurgeReport(
        ran=False,
        method=NO_METHOD,
        detail=reason,
        started_at=_iso(clock.now()),
        duration_ns=0,
        samples=0,
        changed_samples=0,
    )


def _purge_by(method: PurgeMethod, target: OpenTarget, progress: Progress, clock: PurgeClock) -> PurgeReport:
    """One method and its proof. Raises PurgeError."""
    status_before = method.status(target)  # of the drive as it came: marks take space too
    evidence = SampledSectors.of_locked(target) if target.is_locked else SampledSectors.gather(target)
    started_at, started_ns = clock.now(), clock.monotonic_ns()
    detail = method.carry_out(target, progress)
    duration_ns = clock.monotonic_ns() - started_ns
    proof = evidence.compare(target)
    _check(proof, method, target)
    return PurgeReport(
        ran=method.is_purge,
        method=method.title,
        detail=detail,
        started_at=_iso(started_at),
        duration_ns=duration_ns,
        samples=proof.marks,
        changed_samples=proof.marks_changed,
        name=method.name,
        status=method.status(target),
        status_before=status_before,
        other_samples=proof.others,
        blank_samples=proof.blank,
    )


def _check(proof: Proof, method: PurgeMethod, target: OpenTarget) -> None:
    """Raise PurgeImpossibleError if anything is still as it was."""
    if not proof.left:
        return
    raise PurgeImpossibleError(
        f"{method.title} of {target.facts.path} ended without an error, but {proof.left} of "
        f"{proof.marks + proof.others} places, {proof.marks} of them marked before, still hold what they "
        "held: this target can't be purged this way"
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
