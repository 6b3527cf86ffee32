"""``python -m openpts``: the command line."""

from openpts.cli.main import main

main()
