"""The `stromboli` command: wiring and presentation only.

Help must not wait for the import of the scheduler, so a sub-command is loaded when it is called and
the list of commands is read from the table below.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from stromboli import __version__

_GC_THRESHOLD = 50_000
#: The command as a plugin of kubectl.
_PLUGIN = "kubectl-stromboli"


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command: its module below `commands`, and its line in the list. A module defines a command by its own name, or
    by the name after a colon.
    """

    module: str
    short_help: str

    def load(self) -> click.Command:
        module, _, name = self.module.partition(":")
        command = getattr(import_module(f"{__name__}.commands.{module}"), name or module.rpartition(".")[2])
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.module} is not a command")
        return command


class LazyGroup(click.Group):
    """A group of commands in titled sections."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Mapping[str, LazyCommand]], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._sections = sections
        self._lazy = {name: command for section in sections.values() for name, command in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List commands in the order of the table."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = self._lazy.get(cmd_name)
        return known.load() if known else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self._lazy))
        for title, section in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), command.short_help) for name, command in section.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as any group does; for an unknown name suggest the most similar one."""
        near = get_close_matches(args[0], self._lazy, n=1)
        if near and args[0] not in self._lazy:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


#: The commands by section of the help.
SECTIONS = {
    "Try it": {
        "demo": LazyCommand("trial.demo", "Show what the scheduler does, in half a minute."),
        "up": LazyCommand("trial.up", "Start a local cluster with simulated nodes."),
        "examples": LazyCommand("trial.examples", "List or copy example manifests."),
    },
    "Ask": {
        "plan": LazyCommand("ask.plan", "Show what the scheduler would do with a job, or with all."),
        "explain": LazyCommand("ask.explain", "Show why a job waits, and what would let it start."),
        "simulate": LazyCommand("ask.simulate", "Run manifests, a cluster, or a trace in virtual time."),
        "trace": LazyCommand("ask.trace", "Summarise, convert and generate traces of jobs."),
        "forecast": LazyCommand("ask.forecast", "Show when waiting jobs are expected to start."),
        "topology": LazyCommand("ask.topology", "Show the network domains and their free capacity."),
        "bindrequests": LazyCommand("ask.bindrequests", "Show bind requests: decisions that a binder executes."),
        "replay": LazyCommand("ask.replay", "Run the cycle of a dump again, and compare the decisions."),
    },
    "Cluster": {
        "top": LazyCommand("cluster.top", "Show jobs, queues and nodes on the whole screen."),
        "jobs": LazyCommand("cluster.jobs", "List jobs, their places in their queues, and why they wait."),
        "job": LazyCommand("cluster.job", "Show one job: its pods, why it waits, and what would help."),
        "history": LazyCommand("cluster.history", "Show what happened to jobs: starts, evictions, failures."),
        "usage": LazyCommand("cluster.usage", "Show what queues, users, namespaces and jobs have used."),
        "fairshare": LazyCommand(
            "cluster.fairshare", "Show what queues and users have used for their weights, and what follows."
        ),
        "budget": LazyCommand("cluster.budget", "Show and set budgets of queues."),
        "queues": LazyCommand("cluster.queues", "Show the tree of queues: deserved, used, borrowed, waiting jobs."),
        "nodes": LazyCommand("cluster.nodes", "Show what is free on each node, and what keeps it unused."),
        "priority": LazyCommand("cluster.priority", "Show the order of a job's queue, with the keys of every plugin."),
        "score": LazyCommand("cluster.score", "Show why a node is chosen: the points of every scorer."),
        "submit": LazyCommand("cluster.submit", "Submit a job: a batch Job, or a Volcano Job, whose pods form a gang."),
        "suspend": LazyCommand("cluster.suspend", "Suspend a job: its pods end, and it can be resumed."),
        "resume": LazyCommand("cluster.suspend:resume", "Resume a suspended job."),
        "cancel": LazyCommand("cluster.cancel", "Cancel a job: delete its workload, its pods and its PodGroup."),
        "queue": LazyCommand("cluster.queue", "Create, change, open, close and delete queues."),
    },
    "Run": {
        "scheduler": LazyCommand("run.scheduler", "Schedule the pods of a cluster."),
        "controller": LazyCommand(
            "run.controller", "Run Volcano Jobs, create PodGroups, and maintain queues and HyperNodes, until stopped."
        ),
        "binder": LazyCommand("run.binder", "Execute the bind requests of schedulers."),
        "admission": LazyCommand("run.admission", "Validate and default objects, as an admission webhook."),
        "answer": LazyCommand("run.answer", "Answer a question about a namespace from a dump."),
        "console": LazyCommand("run.console", "Serve the web console."),
    },
    "Install": {
        "manifests": LazyCommand("installation.manifests", "Print the manifests of an installation."),
        "uninstall": LazyCommand("installation.uninstall", "Remove an installation, and its traces on other objects."),
        "hypernodes": LazyCommand("installation.hypernodes", "Describe the network by HyperNodes."),
    },
    "Tools": {
        "config": LazyCommand("tools.config", "Validate the scheduler's configuration."),
        "reasons": LazyCommand("tools.reasons", "List the reason codes of waiting jobs."),
        "completion": LazyCommand("tools.completion", "Print a completion script for your shell."),
        "reserve-gpu": LazyCommand("run.reserve_gpu", "Report the GPU of this container, or hold it."),
    },
}
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}


class _Command(LazyGroup):
    """The main command. An output that cannot be written ends it with an error; a closed pipe does not."""

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        if Path(sys.argv[0]).name == _PLUGIN:
            keywords.setdefault("prog_name", _PLUGIN.replace("-", " "))
        if sys.stdout is None:
            self._give_up("standard output is closed")
        try:
            return super().main(*arguments, **keywords)
        except OSError as error:
            self._give_up(error.strerror or str(error))

    @staticmethod
    def _give_up(problem: str) -> NoReturn:
        click.echo(f"error: cannot write the output: {problem}", err=True)
        sys.exit(1)


@click.group(
    cls=_Command,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="To get started: stromboli demo, or without a cluster: stromboli plan -f examples/cluster --explain",
)
@click.version_option(__version__, "-V", "--version", prog_name="stromboli", message="%(prog)s %(version)s")
def main() -> None:
    """A batch scheduler for Kubernetes: gangs, fair queues, and a reason for every pod that waits."""
    tune_garbage_collection()


def tune_garbage_collection() -> None:
    """Collect garbage less often: a scheduling cycle creates many objects that reference counting frees."""
    gc.set_threshold(_GC_THRESHOLD, 20, 100)
