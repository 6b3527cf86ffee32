"""The table of fio's options against fio itself."""

import re
import shutil
import subprocess

import pytest

from openpts_fio.jobs.options import BY_WORD, OPTIONS, OTHER_ENGINES, OptionHandling
from tests.support.fio_own_jobs import fio_own_jobs, own_jobs_table


@pytest.fixture(scope="module")
def fio() -> str:
    found = shutil.which("fio")
    if found is None:
        pytest.skip("fio is not installed")
    return found


def _listed(*words: str) -> list[str]:
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return re.findall(r"^\s*([\w-]+)\s+:", said, re.MULTILINE)


def test_each_option_that_fio_lists_is_in_the_table(fio) -> None:
    listed = set(_listed(fio, "--cmdhelp=all"))
    assert len(listed) > 200
    assert listed - set(BY_WORD) == set()


def test_each_option_of_an_engine_that_fio_has_is_known(fio) -> None:
    said = subprocess.run([fio, "--enghelp"], capture_output=True, text=True, check=False).stdout
    engines = re.findall(r"^\s+([\w-]+)$", said, re.MULTILINE)
    assert {"libaio", "io_uring_cmd", "sg", "net"} <= set(engines)
    for engine in engines:
        for word in _listed(fio, f"--enghelp={engine}"):
            assert word in BY_WORD or engine in OTHER_ENGINES[word], f"{engine}: {word}"


@pytest.mark.parametrize(
    ("word", "treatment"),
    [
        ("sg_write_mode", OptionHandling.REFUSED),
        ("write_mode", OptionHandling.REFUSED),
        ("num_range", OptionHandling.REFUSED),
        ("log_issue_time", OptionHandling.IGNORED),
        ("log_window_value", OptionHandling.IGNORED),
        ("spr_num_regions", OptionHandling.IGNORED),
        ("fdp_pli", OptionHandling.COUNTS),
        ("apptag_mask", OptionHandling.IGNORED),
        ("steadystate_check_interval", OptionHandling.COUNTS),
    ],
)
def test_options_of_fio_3_41_are_known(word, treatment) -> None:
    assert BY_WORD[word].treatment is treatment


@pytest.mark.slow
def test_an_alias_stands_for_the_option_that_fio_has_it_for(fio) -> None:
    said = subprocess.run([fio, "--cmdhelp=all"], capture_output=True, text=True, check=False).stdout
    for name in re.findall(r"^\s*([\w-]+)\s+:", said, re.MULTILINE):
        about = subprocess.run([fio, f"--cmdhelp={name}"], capture_output=True, text=True, check=False).stdout
        for alias in re.findall(r"alias: (\S+)", about):
            assert BY_WORD[alias].name == BY_WORD[name].name, alias


def test_each_word_is_of_one_option_and_each_option_says_what_becomes_of_it() -> None:
    words = [word for option in OPTIONS.values() for word in (option.name, *option.aliases)]
    assert len(words) == len(set(words))
    assert all(option.says for option in OPTIONS.values())
    assert {option.treatment for option in OPTIONS.values()} == set(OptionHandling)


def test_what_becomes_of_the_jobs_of_fio_3_41(snapshot) -> None:
    paths = fio_own_jobs()
    assert len(paths) == 141
    assert own_jobs_table(paths) == snapshot
