"""`openpts run` and its subcommands: single tests, and the whole suite."""

from openpts.cli.run import run
from openpts.cli.suite import run_all

run.add_command(run_all)

__all__ = ["run"]
