"""66 public job files with the values of the suites that use them; a snapshot names what is refused."""

from openpts.config_files.written_file import WrittenFileError
from openpts.units import TB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.translation import Translation
from openpts_fio.jobs.job_file import read_jobs
from openpts_fio.jobs.translation import translate
from tests.support.public_job_files import PublicJob, public_jobs

LEAST_OF_66 = 60
DRIVE = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 4 * TB, 4096)


def outcome(job: PublicJob) -> Translation | tuple[str, ...]:
    try:
        return translate(read_jobs(job.path, job.values), DRIVE)
    except WrittenFileError as error:
        return tuple(text.removeprefix(str(job.path.parent) + "/") for text in error.complaints)


def test_at_least_60_of_66_are_translated_and_each_refusal_is_named(snapshot) -> None:
    outcomes = {name: [outcome(job) for job in jobs] for name, jobs in public_jobs().items()}
    translated = [
        name for name, all_of_it in outcomes.items() if any(isinstance(one, Translation) for one in all_of_it)
    ]
    refused = {
        name: sorted({text for one in all_of_it if isinstance(one, tuple) for text in one})
        for name, all_of_it in outcomes.items()
        if any(isinstance(one, tuple) for one in all_of_it)
    }
    assert len(outcomes) == 66
    assert len(translated) >= LEAST_OF_66
    assert refused == snapshot


def test_what_they_have_in_many_jobs_is_in_the_streams() -> None:
    streams = [
        stream
        for jobs in public_jobs().values()
        for one in map(outcome, jobs)
        if isinstance(one, Translation)
        for step in one.steps
        for stream in step.streams
    ]
    pacings = {type(stream.stimulus.pacing).__name__ for stream in streams}
    assert pacings == {"ClosedLoop", "Capped", "Batches", "ThinkTime"}
    assert any(stream.stimulus.operations.trim for stream in streams)
    assert any(stream.delay_ns for stream in streams)
    assert any(0 < stream.stimulus.random_pct < 100 for stream in streams)
