"""`stromboli examples`: list the example manifests, or copy them."""

from __future__ import annotations

from pathlib import Path

import click

from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Failure, Printout

_EXIT_CODES = """

\b
Exit codes:
  0  success
  1  invalid input, such as a folder that cannot be written
  2  wrong usage
"""
_EPILOG = f"""\b
Examples:
  stromboli examples
  stromboli examples -o wide
  stromboli examples copy{_EXIT_CODES}"""
_COPY_EPILOG = f"""\b
Examples:
  stromboli examples copy
  stromboli examples copy my-folder --force{_EXIT_CODES}"""


@click.group(epilog=_EPILOG, invoke_without_command=True)
@output_option()
@click.pass_context
def examples(context: click.Context, output: str) -> None:
    """List or copy example manifests."""
    from stromboli.cli.examples import examples_folder, summaries
    from stromboli.cli.text.tables import Table, echo_table

    if context.invoked_subcommand is not None:
        return
    found = [
        {"name": name, "summary": summary, "path": str(examples_folder() / name)}
        for name, summary in summaries().items()
    ]
    table = Table(("NAME", "SUMMARY", "PATH"), flexible=("SUMMARY",), wide=("PATH",))
    for example in found:
        table.add(*example.values())
    Printout(
        tables=lambda wide: echo_table(table, wide=wide),
        data=lambda: found,
        names=lambda: [f"example/{example['name']}" for example in found],
    ).echo(output)


@examples.command(epilog=_COPY_EPILOG)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default="examples", metavar="[DIR]")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def copy(folder: Path, force: bool) -> None:
    """Write the examples to a folder; by default ./examples."""
    from stromboli.cli.examples import copy_examples
    from stromboli.kube.manifests.errors import path_problem

    try:
        count = copy_examples(folder, force=force)
    except FileExistsError as error:
        raise Failure(f"{error}: exists and differs; use --force to overwrite it") from error
    except OSError as error:
        raise Failure(path_problem(error.filename or str(folder), error)) from error
    click.echo(f"{count} files written to {folder}")
