"""Redacts a report: serial numbers are replaced; for a customer people, paths and the host are left out."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from openpts.escaped_text import with_texts
from openpts.record.batch import folder_word
from openpts.record.health import HealthRecord
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.reader import Run
from openpts.run_folder_files import file_name_word
from openpts.vocabulary.facts import Fact, Facts, People
from openpts.vocabulary.verdict import Deviation
from openpts_pages.model import Report

T = TypeVar("T")

LEFT_OUT: Final = "left out for the customer"
_PATH: Final = "PATH"
_OF_HOST: Final = ("kernel", "kernel_command_line")
_ABSOLUTE: Final = re.compile(r"(?<![\w.:/])/(?!sys/|proc/|etc/|usr/)[\w.@+-]+(?:/[\w.@+:-]+)+")

_IDENTIFYING: Final = ("serial", "wwn", "eui64", "nguid", "uuid")
_TEST_ID_DIGITS: Final = 4


def redacted(report: Report, manifests: Sequence[Manifest]) -> Report:
    """The report with each serial number replaced by ``REDACTED-`` and four digits of its checksum.

    The digits are the same in all reports of a drive, so that reports of one drive can be recognized.
    """
    return replace(redacted_value(report, manifests, Report), redacted=True)


def redacted_value(value: T, manifests: Sequence[Manifest], kind: Any = Any) -> T:
    """A value with serial numbers replaced in all of its texts; one that is no plain JSON has a ``kind``."""
    replacements = _replacements(manifests)

    def replaced(text: str) -> str:
        for pattern, by in replacements:
            text = pattern.sub(by, text)
        return text

    changed: T = msgspec.convert(with_texts(msgspec.to_builtins(value), replaced), type=kind)
    return changed


def customers_run(run: Run) -> Run:
    """The run without its people, machine and commands: what its customer's report is made of.

    Settings of the host stay, as alerts on the drive's link are read from them; their audit is no page there.
    """
    manifest, people = run.manifest, run.manifest.people
    names = {people.operator, people.auditor, people.sponsor, *people.labels.values()} - {None}

    def word(text: str) -> str:
        option, equals, value = text.rpartition("=")
        is_path = "/" in value and not value.startswith("sim:")
        return f"{option}{equals}{LEFT_OUT}" if is_path or value in names else text

    of_host = {key: fact for key, fact in manifest.software.items() if key in _OF_HOST}
    hidden = replace(
        manifest,
        people=People(_left_out(people.operator), _left_out(people.auditor), _left_out(people.sponsor)),
        command_line=tuple(map(word, manifest.command_line)),
        host=_hidden(manifest.host),
        software=manifest.software | _hidden(of_host),
        attempts=tuple(replace(one, host=LEFT_OUT, kernel=LEFT_OUT) for one in manifest.attempts),
        hooks=(),
    )
    return replace(run, manifest=hidden)


def _left_out(name: str | None) -> str | None:
    return LEFT_OUT if name else None


def _hidden(facts: Facts) -> Facts:
    return {key: fact if fact.value is None else Fact(LEFT_OUT, "-") for key, fact in facts.items()}


def without_paths(value: T, manifests: Sequence[Manifest], folders: Sequence[Path], kind: Any = Any) -> T:
    """What is made of ``customers_run``, without paths and the host's name; ``kind`` as before."""
    private = {str(folder): _PATH for folder in folders}
    for manifest in manifests:
        if manifest.target.simulation is None:
            private[manifest.target.path] = _PATH
        private |= {word: _PATH for word in manifest.command_line if "/" in word and "sim:" not in word}
        private |= {one.host: "HOST" for one in manifest.attempts}
    patterns = [(_alone(text), by) for text, by in sorted(private.items(), key=_longest_first) if text]

    def changed(text: str) -> str:
        for pattern, by in patterns:
            text = pattern.sub(by, text)
        return _ABSOLUTE.sub(_PATH, text) if "/" in text else text

    found: T = msgspec.convert(with_texts(msgspec.to_builtins(value), changed), type=kind)
    return found


def _longest_first(item: tuple[str, str]) -> int:
    return -len(item[0])


def redacted_run(run: Run) -> Run:
    """The same for what else is made of a run: its facts, ledger and readings of health."""
    manifests = [run.manifest]
    return replace(
        run,
        manifest=redacted_value(run.manifest, manifests, manifest_of(run.manifest.conditions.test)),
        ledger=redacted_value(run.ledger, manifests, tuple[Deviation, ...]),
        health=redacted_value(run.health, manifests, tuple[HealthRecord, ...]),
    )


def _replacements(manifests: Sequence[Manifest]) -> list[tuple[re.Pattern[str], str]]:
    """Longest first, so that no part of a number stays behind the replacement of another."""
    found: dict[str, str] = {}
    for manifest in manifests:
        for key in _IDENTIFYING:
            fact = manifest.dut.get(key)
            if fact is not None and fact.value and fact.value.strip():
                value = fact.value.strip()
                forms = (value, file_name_word(value), folder_word(value))
                for form in filter(None, forms):
                    found[form] = f"REDACTED-{_hash4(value)}"
        serial = manifest.dut.get("serial")
        last_digits = serial.value[-_TEST_ID_DIGITS:] if serial is not None and serial.value else ""
        if serial is not None and last_digits and manifest.test_id.startswith(last_digits):
            rest = manifest.test_id.removeprefix(last_digits)
            found[manifest.test_id] = f"{_hash4(str(serial.value).strip())}{rest}"
    return [(_alone(text), by) for text, by in sorted(found.items(), key=_longest_first)]


def _alone(text: str) -> re.Pattern[str]:
    """The text where it is no part of a longer word: a short serial number is found in many figures."""
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])")


def _hash4(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:4]
