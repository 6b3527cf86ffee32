"""Transient units: what systemd is told, and where a unit would not outlive the login."""

import os
import pwd

from openpts.system_files import SystemRoots
from openpts.transient_unit import lasting_manager, literal, unit_words


def booted(tmp_path) -> SystemRoots:
    (tmp_path / "systemd/system").mkdir(parents=True)
    return SystemRoots(run=tmp_path)


def test_a_unit_is_never_started_again_and_ends_with_all_of_its_processes() -> None:
    words = unit_words("openpts-1.service", "a run", {"Nice": 5})
    assert words[0] == "systemd-run"
    assert {"--unit=openpts-1.service", "--description=a run"} <= set(words)
    assert {f"--property={one}" for one in ("Restart=no", "KillMode=control-group", "Nice=5")} <= set(words)


def test_a_dollar_is_no_variable_of_systemd() -> None:
    assert literal(["sh -c 'echo $HOME'", "plain"]) == ["sh -c 'echo $$HOME'", "plain"]


def test_root_has_the_manager_of_the_system(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert lasting_manager(booted(tmp_path)) == ("--system",)


def test_a_user_has_one_that_lasts_only_by_lingering(tmp_path, monkeypatch) -> None:
    name = pwd.getpwall()[1]
    monkeypatch.setattr(os, "geteuid", lambda: name.pw_uid)
    roots, lingering = booted(tmp_path), tmp_path / "linger"
    lingering.mkdir()
    assert lasting_manager(roots, lingering) is None
    (lingering / name.pw_name).touch()
    assert lasting_manager(roots, lingering) == ("--user",)


def test_there_is_none_without_systemd(tmp_path) -> None:
    assert lasting_manager(SystemRoots(run=tmp_path)) is None
