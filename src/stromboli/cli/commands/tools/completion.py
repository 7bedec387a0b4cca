"""`stromboli completion`: completion scripts for shells."""

from __future__ import annotations

import click

_EPILOG = """\b
Examples:
  stromboli completion bash \\
    > ~/.local/share/bash-completion/completions/stromboli
  stromboli completion zsh > "${fpath[1]}/_stromboli"
  stromboli completion fish > ~/.config/fish/completions/stromboli.fish

\b
Exit codes:
  0  printed
  1  invalid input
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for your shell.

    The script calls the command for completions, so it stays correct after upgrades.
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"Unknown shell {shell}.")
    click.echo(found(root.command, {}, "stromboli", "_STROMBOLI_COMPLETE").source())
