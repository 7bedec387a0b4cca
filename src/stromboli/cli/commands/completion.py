"""`stromboli completion`: the script that teaches a shell to complete the command."""

from __future__ import annotations

import click

_EPILOG = """\b
Examples:
  bash:  stromboli completion bash > ~/.local/share/bash-completion/completions/stromboli
  zsh:   stromboli completion zsh > "${fpath[1]}/_stromboli"
  fish:  stromboli completion fish > ~/.config/fish/completions/stromboli.fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for your shell.

    The script asks the command itself what may come next, so it stays right when stromboli is upgraded.
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"The shell {shell} is not known.")
    click.echo(found(root.command, {}, "stromboli", "_STROMBOLI_COMPLETE").source())
