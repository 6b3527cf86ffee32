"""Print openpts' figures of runs, without reports: python -m tests.second_verifier.figures RUN..."""

import sys
from pathlib import Path

import msgspec

from openpts.record.reader import read_run
from openpts.report.run_part import summarize

if __name__ == "__main__":
    figures = [summarize(read_run(Path(folder))) for folder in sys.argv[1:]]
    sys.stdout.buffer.write(msgspec.json.encode({"schema": "openpts.runs/1", "runs": figures}))
