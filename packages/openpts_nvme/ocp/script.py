"""OCP Datacenter NVMe SSD 2.7 (ocp).

Purpose
    Whether a drive meets a specification that large buyers buy by, with evidence for each requirement.
Source
    Practice beyond the PTS: OCP Datacenter NVMe SSD Specification 2.7, 1,744 requirements.
Steps
    The drive is asked all that the checks look at. Acts follow, each of which measures something: questions
    that must be refused, reads beside logs, power, settings, a reset, a self-test, deallocation, formats,
    sanitizes. Counters are read once more at the end.
Pass rule
    Each requirement has its own, in the tables of checks. What the drive lists as unsupported in log C5h is
    shown as that.
Reported
    Requirements met, not met, said to be unsupported, and not checkable, each with what was seen.
"""

from typing import Final

from openpts.procedures.kit.ledger import Standard
from openpts.vocabulary.requests import CycleFinished, Outcome, Script
from openpts_nvme.dssd.plan import ACTS, ASK, ASK_AGAIN, FIRMWARE, Look
from openpts_nvme.ocp import OcpConditions

standard_conditions: Final = Standard(OcpConditions, write_cache_enabled=True, read_only=False)


def script(conditions: OcpConditions, user_capacity_bytes: int) -> Script:
    """What is asked, then the acts, those that lose data last."""
    del user_capacity_bytes
    yield Look(ASK)
    for act in ACTS:
        if not (act.writes and conditions.read_only):
            yield Look(act.name)
    if conditions.firmware:
        yield Look(FIRMWARE.name, conditions.firmware)
    yield Look(ASK_AGAIN)
    yield CycleFinished(Outcome(steady_round=None, last_round=0))
