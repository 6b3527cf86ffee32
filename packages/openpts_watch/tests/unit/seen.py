"""Lines of a made-up run as its file has them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from openpts.record.writer import EVENTS_NAME
from openpts.runner import event_lines as lines
from openpts.runner.event_lines import EventLine
from openpts.vocabulary.sample import Phase, StepPlace

HOSTILE = "S1\x1b[2J[red]</b>"
AT = "2026-11-27T10:00:00.000Z"
S = 10**9


def started(resumes_at: str = "") -> lines.RunStartedLine:
    wipc = lines.PlannedPhase(
        cycle=1, phase=Phase.WIPC, numbers=1, steps=1, longest_ns=1000 * S, may_end_sooner=False
    )
    rounds = lines.PlannedPhase(
        cycle=1, phase=Phase.ROUND, numbers=25, steps=50, longest_ns=9000 * S, may_end_sooner=True
    )
    target = lines.TargetLine(
        path="/dev/nvme0n1",
        name="nvme0n1",
        kind="block",
        model="M",
        serial=HOSTILE,
        firmware="F",
        user_capacity_bytes=10**9,
        sector_bytes=512,
        simulated=None,
    )
    return lines.RunStartedLine(
        at=AT,
        run="S1-iops",
        folder="/runs/S1-iops",
        test="iops",
        profile="PTS-E 2.0.1",
        seed=1,
        target=target,
        longest_ns=10_000 * S,
        planned_steps=51,
        resumes_at=resumes_at,
        labels={},
        host_limits=("a link that carries 1 GB/s",),
        plan=(wipc, rounds),
    )


def place(number: int, position: int = 0, phase: Phase = Phase.ROUND) -> StepPlace:
    return StepPlace(cycle=1, phase=phase, number=number, position=position)


def phase(number: int, phase: Phase = Phase.ROUND) -> lines.PhaseStartedLine:
    stimuli = ("RND 4 KiB 0/100", "RND 8 KiB 0/100")
    most = 25 if phase is Phase.ROUND else None
    return lines.PhaseStartedLine(at=AT, cycle=1, phase=phase, number=number, stimuli=stimuli, most=most)


def second(
    number: int, iops: float = 1000.0, position: int = 0, left_s: int | None = 5000
) -> lines.RunProgressLine:
    return lines.RunProgressLine(
        at=AT,
        place=place(number, position),
        step_elapsed_ns=S,
        ios=1000,
        bytes=4096000,
        iops=iops,
        bytes_per_s=iops * 4096,
        temperature_c=40.0 + number,
        step_share=0.5,
        left_ns=None if left_s is None else left_s * S,
        left_bounded=True,
        drive_fills=2.5,
    )


def step(number: int, position: int = 0, phase: Phase = Phase.ROUND) -> lines.StepFinishedLine:
    write = lines.OperationLine(
        ios=10**5,
        bytes=4096 * 10**5,
        iops=1000.0,
        bytes_per_s=4096000.0,
        latency_mean_ns=1_500_000.0,
        latency_min_ns=100_000,
        latency_max_ns=25_000_000,
        percentiles_ns={"p99.9": 9_000_000},
    )
    return lines.StepFinishedLine(
        at=AT,
        place=place(number, position, phase),
        stimulus="RND 4 KiB 0/100",
        state="complete",
        ended_by="duration",
        elapsed_ns=100 * S,
        gap_ns=0,
        operations={"write": write},
        errors=0,
        failure=None,
    )


def judged(number: int, *values: float, steady: bool) -> lines.SteadyStateJudged:
    variable = lines.Steadiness(
        name="RND 4 KiB RW0",
        steady=steady,
        average=sum(values) / 5,
        range_pct=12.3,
        slope_excursion_pct=4.5,
        window=tuple(range(number - 4, number + 1)),
        values=values,
        slope=-1.25,
        intercept=1000.0,
    )
    return lines.SteadyStateJudged(
        at=AT, phase=Phase.ROUND, number=number, steady=steady, variables=(variable,)
    )


def in_round_seven() -> Iterator[EventLine]:
    yield lines.ProgramStarted(at=AT, program_version="1", command_line=("run", "iops"))
    yield started()
    yield lines.DeviationFound(
        at=AT,
        rule_id="PTS-GEN-01",
        clause="3",
        required="as specified",
        used=HOSTILE,
        effect="shorter",
        steps=0,
    )
    yield phase(1, Phase.WIPC)
    yield step(1, phase=Phase.WIPC)
    for number in range(1, 8):
        yield phase(number)
        for at_iops in (900.0, 1100.0, 1000.0):
            yield second(number, at_iops + 10 * number)
        if number < 7:
            yield step(number)
            yield step(number, 1)
        if 5 <= number < 7:
            values = (1000.0 + 10 * one for one in range(number - 4, number + 1))
            yield judged(number, *values, steady=number == 6)
    limited_ns = {"link": 3 * S}
    yield lines.HostLimitedLine(
        at=AT, place=place(6), limited_ns=limited_ns, judged_ns=10 * S, evidence=("the link was full",)
    )


def write(folder: Path, some: Iterator[EventLine]) -> None:
    with (folder / EVENTS_NAME).open("ab") as file:
        for line in some:
            file.write(msgspec.json.encode(line) + b"\n")
