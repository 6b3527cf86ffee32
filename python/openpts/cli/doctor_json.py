"""The host audit as JSON."""

from collections.abc import Sequence

from openpts.advice.advice import Grade
from openpts.runner.doctor import Doctor, Finding
from openpts.runner.healing import Healing
from openpts.vocabulary.tuning import ChangeReport


def audit_in_json(
    target: str | None,
    physician: Doctor,
    findings: Sequence[Finding],
    changes: Sequence[ChangeReport],
    restored: Sequence[Healing],
) -> dict[str, object]:
    """What docs/doctor.schema.json describes: the audit, what was changed before it, what was put back."""
    return {
        "scenario": physician.scenario.value,
        "target": target,
        "disk": None if physician.disk is None else physician.disk.name,
        "counts": {grade.value: sum(finding.grade is grade for finding in findings) for grade in Grade},
        "settings": [_finding_in_json(finding) for finding in findings],
        "changes": [
            {
                "key": change.key,
                "place": change.place,
                "found": change.found,
                "wanted": change.wanted,
                "failure": change.failure or None,
            }
            for change in changes
        ],
        "restored": [{"put_back": healing.put_back, "text": healing.text} for healing in restored],
    }


def _finding_in_json(finding: Finding) -> dict[str, object]:
    advice = finding.advice
    return {
        "key": advice.key,
        "group": advice.group.value,
        "title": advice.title,
        "now": finding.fact.value,
        "source": finding.fact.source,
        "real_world": advice.real_world,
        "synthetic": advice.synthetic,
        "effect": advice.reason,
        "grade": finding.grade.value,
        "remedy": finding.remedy or None,
        "requirements": list(advice.requirements),
    }
