"""`openpts plan-schema`: what a plan file may hold, for editors."""

import json

import click

from openpts.parameters.plan_file import plan_schema


@click.command("plan-schema")
def plan_schema_command() -> None:
    """Print the JSON Schema of plan files (`openpts run TEST TARGET --plan FILE`).

    An editor that knows it completes keys, explains them and marks what makes no sense.
    """
    click.echo(json.dumps(plan_schema(), indent=2))
