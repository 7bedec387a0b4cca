"""The `stromboli` command: wiring and presentation only.

Asking for help must not wait for the scheduler to be imported, so a sub-command is loaded when it is called and
the list of commands is told from the table below.
"""

import sys
from typing import Any, NoReturn

import click

from stromboli import __version__
from stromboli.cli.garbage_collection import tune_garbage_collection
from stromboli.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "up": LazyCommand("stromboli.cli.commands.up:up", "Start a cluster to play with, in this process."),
    "scheduler": LazyCommand("stromboli.cli.commands.scheduler:scheduler", "Schedule the pods of a cluster."),
    "controller": LazyCommand(
        "stromboli.cli.commands.controller:controller", "Make PodGroups for plain pods and keep the state of queues."
    ),
    "binder": LazyCommand("stromboli.cli.commands.binder:binder", "Carry out the bind requests of schedulers."),
    "admission": LazyCommand(
        "stromboli.cli.commands.admission:admission", "Look at objects before they are stored, as a webhook."
    ),
    "reserve-gpu": LazyCommand(
        "stromboli.cli.commands.reserve_gpu:reserve_gpu", "Say which GPU this container was given, or hold it."
    ),
    "manifests": LazyCommand("stromboli.cli.commands.manifests:manifests", "Print the manifests of an installation."),
    "plan": LazyCommand("stromboli.cli.commands.plan:plan", "Show what the scheduler would do with some manifests."),
    "explain": LazyCommand(
        "stromboli.cli.commands.explain:explain", "Say why a job waits, and what would let it start."
    ),
    "simulate": LazyCommand("stromboli.cli.commands.simulate:simulate", "Let time go by for some manifests."),
    "topology": LazyCommand(
        "stromboli.cli.commands.topology:topology", "Show the domains of the network, and what is free in them."
    ),
    "hypernodes": LazyCommand("stromboli.cli.commands.hypernodes:hypernodes", "Describe the network by HyperNodes."),
    "bindrequests": LazyCommand(
        "stromboli.cli.commands.bindrequests:bindrequests", "Show bind requests: decisions that a binder carries out."
    ),
    "replay": LazyCommand(
        "stromboli.cli.commands.replay:replay", "Take the decisions of a dump again, and compare them."
    ),
    "config": LazyCommand("stromboli.cli.commands.config:config", "Look at the scheduler's configuration."),
    "reasons": LazyCommand("stromboli.cli.commands.reasons:reasons", "List the reasons for which a job may wait."),
    "completion": LazyCommand(
        "stromboli.cli.commands.completion:completion", "Print a completion script for your shell."
    ),
}


class _Command(LazyGroup):
    """The whole command. Where its output cannot go, it says so and stops; a reader that went away is no error."""

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        if sys.stdout is None:
            self._give_up("the standard output is closed")
        try:
            return super().main(*arguments, **keywords)
        except OSError as error:
            self._give_up(error.strerror or str(error))

    @staticmethod
    def _give_up(problem: str) -> NoReturn:
        click.echo(f"error: the output cannot be written: {problem}", err=True)
        sys.exit(1)


@click.group(
    cls=_Command,
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with: stromboli up, or without any cluster: stromboli plan -f examples/cluster --explain",
)
@click.version_option(__version__, "-V", "--version", prog_name="stromboli", message="%(prog)s %(version)s")
def main() -> None:
    """A batch scheduler for Kubernetes: gangs, fair queues, and a reason for every refusal."""
    tune_garbage_collection()
