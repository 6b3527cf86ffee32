"""The steps of a run as tab-separated values."""

from openpts.record.reader import Run


def files(run: Run) -> dict[str, bytes]:
    """One row for each step, by the name of the file."""
    rows = (
        f"{step.place.phase}\t{step.place.number}\t{step.sample.elapsed_ns}\t{step.sample.iops}\n"
        for step in run.steps
    )
    return {"steps.tsv": "".join(["phase\tnumber\telapsed_ns\tiops\n", *rows]).encode()}
