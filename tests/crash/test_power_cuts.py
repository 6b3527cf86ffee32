"""Power cuts in the middle of runs, whose folders are on a disk that loses what was not synced."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from openpts.device.write_cache import WRITE_CACHE
from openpts.journal import Entry, Journal
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from tests.crash.machine import RECORD, Cut, Machine, place_of
from tests.crash.trial import RUN, Case, Trial, sim
from tests.crash.victim import Reported, openpts
from tests.lab.machine import needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

_BOOTS = int(os.environ.get("OPENPTS_POWER_BOOTS", "4"))
_CUTS = int(os.environ.get("OPENPTS_POWER_CUTS", "15"))
_SEED = int(os.environ.get("OPENPTS_CRASH_SEED", "17"))
_DRIVE = Case(
    (
        *("lat", "/dev/nvme0n1", "--confirm-serial", "LABNVME0000", "--step-seconds", "0.2"),
        *("--max-rounds", "3", "--precondition-passes", "0.1", "--histogram-seconds", "2", "--tune"),
    ),
    ("--confirm-serial", "LABNVME0000", "--accept-interruption"),
)
_HERE = ("--accept-other-host", "--accept-other-version")
_SIMULATED = tuple(
    replace(case, accepts=_HERE)
    for case in (
        sim("tp", "--max-rounds", "2"),
        sim("dirth", "--max-rounds", "2", "--histogram-seconds", "0.5"),
    )
)
_REPORT = ("report", RUN, "--no-html", "--no-pdf")
_CACHE = "nvme get-feature /dev/nvme0 -f 6"


class Tally:
    """Where the cuts fell."""

    def __init__(self) -> None:
        self._seen = Counter[str]()
        self._after_a_step = 0

    def add(self, cut: Cut, commands: Sequence[Sequence[str]], *, told: bool) -> None:
        """Count one."""
        doing = commands[len(cut.told) - 1][0] if cut.told else "start"
        self._seen[f"{doing} {cut.announced}".strip()] += 1
        self._after_a_step += told

    def recorded(self, record: Callable[[str, object], None]) -> None:
        """For the summary. Cuts before there is anything to lose prove nothing."""
        assert self._after_a_step, f"no cut came after an announced step: {self._seen}"
        record("cuts", (self._seen.total(), self._after_a_step, dict(self._seen)))


def in_record(command: Sequence[str], part: int) -> tuple[str, ...]:
    """The command line with its folder on the machine's disk."""
    return tuple(f"{RECORD}/{part}/{RUN}" if word == RUN else word for word in command)


def test_a_drive_that_is_measured_through_one_power_cut_after_the_other_loses_no_step(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Each boot goes on from a place in the log of the one before, and the last one comes to its end."""
    random, machine, tally = Random(_SEED), Machine(tmp_path), Tally()
    told, begun, noted = list[Reported](), False, False
    for left in reversed(range(_BOOTS)):
        commands = [in_record(line, 0) for line in (_DRIVE.resume if begun else _DRIVE.run, _REPORT)]
        boot = machine.boots(
            commands,
            # the drive remembers how the run that was cut off had set its cache
            before="nvme set-feature /dev/nvme0 -f 6 -v 0"
            if noted
            else ":"
            if begun
            else f"rm -rf {RECORD}/0",
            after=f"{_CACHE} > $LAB_SHARE/cache",
            steps=random.randint(3, 25) if left else None,
        )
        before, cut_off = list(told), list[tuple[Cut, list[Reported], bool, bool]]()
        for cut in boot.cuts(random, _CUTS):
            folder = tmp_path / f"boot-{left}-{cut.writes}"
            boot.content_after(cut, folder, random)
            here = [*before, *(step for steps in cut.told for step in steps)]
            tally.add(cut, commands, told=bool(here))
            trial = Trial(_DRIVE, random, place_of(folder, 0))
            has_begun = trial.has_outlived(here, (cut.told or [()])[-1])
            assert has_begun or not here
            if not has_begun or read_run(trial.folder).manifest.state is RunState.RUNNING:
                has_noted = _has_noted_the_cache(folder)
                assert has_noted or not trial.latest, "the cache was changed before the journal had it"
                cut_off.append((cut, here, has_begun, has_noted))
            shutil.rmtree(folder)
        if left:
            cut, told, begun, noted = random.choice(cut_off)
            boot.disk_after(cut, machine.base, random)
    end = tmp_path / "end"
    boot.content_after(boot.last_cut, end, random)
    place = place_of(end, 0)
    assert openpts("verify", RUN, cwd=place).code == 0, boot.output
    run = read_run(place / RUN)
    assert run.manifest.state is RunState.COMPLETE
    assert _journal(end) == ()
    assert "00000001" in (tmp_path / f"boot-{_BOOTS}" / "cache").read_text()
    tally.recorded(record_property)


def test_a_simulated_run_goes_on_from_any_power_cut_to_the_figures_of_an_undisturbed_one(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    random, machine, tally = Random(_SEED), Machine(tmp_path), Tally()
    commands = [in_record(line, part) for part, case in enumerate(_SIMULATED) for line in (case.run, _REPORT)]
    boot = machine.boots(commands)
    for number, cut in enumerate(boot.cuts(random, _BOOTS * _CUTS)):
        told = [step for steps in cut.told for step in steps]
        tally.add(cut, commands, told=bool(told))
        folder = tmp_path / str(number)
        boot.content_after(cut, folder, random)
        for part, case in enumerate(_SIMULATED[: (len(cut.told) + 1) // 2]):
            trial = Trial(case, random, place_of(folder, part))
            of_run = cut.told[2 * part]
            if trial.has_outlived(of_run, of_run):
                trial.goes_on()
            else:
                assert not of_run
        shutil.rmtree(folder)
    tally.recorded(record_property)


def _journal(folder: Path) -> tuple[Entry, ...]:
    return Journal(folder / "state" / "journal").entries()


def _has_noted_the_cache(folder: Path) -> bool:
    return any(entry.kind == WRITE_CACHE for entry in _journal(folder))
