"""Labs that run one test on drives of one kind, each with its own noise, and some with one thing wrong.

The simulator has what a drive does: sleep that lengthens each I/O, heat that throttles, spare space that wear
takes away, data that a purge would have removed, another stimulus. A simulated drive has no host, no clock,
no past: sleep states, the system's clock and the wear that a log reports are planted in what was recorded.
"""

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import tomli_w
from msgspec.structs import replace

from openpts.record.reader import Run, read_run
from openpts.vocabulary.facts import Fact
from openpts_line.replicate.passport import Passport
from tests.support.limited_runs import invoke
from tests.support.oracle_presets import write_oracle

PRESETS: Final = Path(__file__).parents[2] / "python/openpts/simulation/presets"
_SIZE: Final = "capacity=16GB&scale=8"
_WORDS: Final = ("--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0", "--tc", "1")
_COLD_C: Final = 30.0
_THROTTLE_C: Final = 54.5
"""What the drive does not reach as it reads, at the temperature of the other labs."""


@dataclass(frozen=True)
class Protocol:
    """How the test is carried out. ``noise`` is of each step, relative: what differs between labs as well."""

    words: tuple[str, ...]
    noise: float
    exact: bool = False


def _words(passes: int, seconds: int, rounds: int, read_pcts: str) -> tuple[str, ...]:
    return (
        *("--precondition-passes", str(passes), "--step-seconds", str(seconds)),
        *("--max-rounds", str(rounds), "--read-pcts", read_pcts),
    )


STEADY: Final = Protocol(_words(2, 4, 12, "0,65,100"), 0.005)
FRESH: Final = Protocol(_words(0, 2, 5, "0,65,100"), 0.005)
"""Without preconditioning: what was on the drive before the purge bears on the figures."""
EXACT: Final = Protocol(_words(1, 1, 5, "0"), 10e-6, exact=True)
"""Of a drive that follows a script: nearly all of the uncertainty is that of the clock."""


@dataclass(frozen=True)
class Bias:
    """What is wrong in a lab, and by which condition it has to be named; nothing of the usual one."""

    name: str = ""
    named: str = ""
    words: tuple[str, ...] = ()
    preset: Mapping[str, float] = field(default_factory=dict)
    query: str = ""
    protocol: Protocol = STEADY
    sleep_us: float = 0.0
    used_pct: float = 2.0
    clock_ppm: float = 0.0


def _sleep(us: float) -> Bias:
    longer = {"controller.fixed_read_us": 13.8 + us, "controller.fixed_write_us": 11.0 + us}
    return Bias(f"C-states, {us:g} us", "Setting: Sleep states (C-states)", preset=longer, sleep_us=us)


def _aged(physical_per_user: float, used_pct: float) -> Bias:
    less = {"mapping.physical_per_user": physical_per_user}
    return Bias(f"aged, {used_pct:g} %", "Endurance used before", preset=less, used_pct=used_pct)


BIASES: Final = (
    _sleep(15),
    _sleep(40),
    Bias("5 K hotter", "Temperature of the drive, median", preset={"thermal.ambient_c": _COLD_C + 5}),
    _aged(1.24, 40),
    _aged(1.20, 80),
    Bias("QD 14", "Queue depth (QD)", words=("--qd", "14")),
    Bias("QD 24", "Queue depth (QD)", words=("--qd", "24")),
    Bias("no purge", "Purge method", words=("--purge", "none"), query="&state=worn-in", protocol=FRESH),
    Bias("clock, 200 ppm", "Engine's clock slower than the system's", clock_ppm=200, protocol=EXACT),
)
UNBIASED: Final = {protocol: Bias(protocol=protocol) for protocol in (STEADY, FRESH, EXACT)}


def run_of(folder: Path, bias: Bias, seed: int) -> Run:
    """The run of a lab, as it was recorded; its seed is that of the test, which draws the offsets."""
    out = Path(mkdtemp(dir=folder)) / "run"
    if bias.protocol.exact:
        target = f"sim:{write_oracle(out.parent, [100_000.0])}"
    else:
        target = f"sim:{_preset(out.parent / 'drive.toml', bias.preset)}?{_SIZE}{bias.query}"
    qd = () if "--qd" in bias.words else ("--qd", "16")
    words: Sequence[object] = (*_WORDS, *bias.protocol.words, *qd, *bias.words, "--seed", seed, "--out", out)
    error, output = invoke("run", "iops", target, "--no-report", "--telemetry-period", "off", *words)
    assert error is None, output
    return read_run(out)


def _preset(path: Path, changes: Mapping[str, float]) -> Path:
    content: dict[str, Any] = tomllib.loads((PRESETS / "enterprise-tlc.toml").read_text())
    content |= {"name": "lab-drive", "summary": "a drive of a lab", "assumed": []}
    del content["figures"]
    tables = content["page_mapped"]
    throttle = [{"from_c": _THROTTLE_C, "hysteresis_k": 1.0, "factor": 3.0}]
    soon_warm = {"controller_j_per_k": 0.5, "nand_j_per_k": 2.0, "sensor_lag_s": 0.1}
    tables["thermal"] |= {"ambient_c": _COLD_C, "throttle": throttle, **soon_warm}
    for name, value in changes.items():
        table, _, key = name.partition(".")
        tables[table][key] = value
    path.write_text(tomli_w.dumps(content))
    return path


def passport_of(run: Run, bias: Bias, seed: int) -> Passport:
    """What a lab hands out: its run on a host, with its noise, its clock and the past of its drive."""
    chance, noise = random.Random(seed), bias.protocol.noise
    rate = 1 - bias.clock_ppm / 1e6  # a slow clock counts less time
    steps = tuple(
        replace(one, sample=replace(one.sample, elapsed_ns=round(one.sample.elapsed_ns * rate * factor)))
        for one in run.steps
        for factor in [1 + chance.gauss(0, noise)]
    )
    of = run.manifest
    texts = {
        "c_states": f"POLL, C1 (2 us to wake), C6 ({2 + bias.sleep_us:g} us to wake)",
        "governor": "performance",
    }
    on_a_host = replace(
        of,
        test_id=f"{of.test_id}-{seed}",
        target=replace(of.target, simulation=None),
        dut={**of.dut, "model": Fact("LAB-DRIVE", "lab"), "serial": Fact(f"S{seed}", "lab")},
        host={**of.host, "cpu": Fact("a processor", "lab")},
        host_before={name: Fact(text, "lab") for name, text in texts.items()},
    )
    health = tuple(
        replace(
            one,
            reading=replace(
                one.reading,
                values={**one.reading.values, "percentage_used_pct": bias.used_pct + chance.random()},
            ),
        )
        for one in run.health
    )
    stored = tuple(_stored(rate, chance))
    return Passport.of(replace(run, steps=steps, manifest=on_a_host, health=health, stored=stored))


def _stored(rate: float, chance: random.Random) -> Iterator[tuple[datetime, int]]:
    """When steps were stored of a run as long as the specification's, each a little after its end."""
    began = datetime(2026, 11, 27, tzinfo=UTC)
    for minute in range(0, 280, 5):
        late_ms = 1 + round(chance.expovariate(0.5))
        yield began + timedelta(minutes=minute, milliseconds=late_ms), round(minute * 60e9 * rate)
