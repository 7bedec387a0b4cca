"""What `plan` and `explain` are given alike: manifests, a configuration, and how far to go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.framework.configuration import Configuration
    from stromboli.framework.program import Program
    from stromboli.framework.registry import Registry
    from stromboli.kube import KubeObject
    from stromboli.planner.advice import Advice
    from stromboli.planner.plan import Plan

Command = TypeVar("Command", bound=Callable[..., Any])

#: The exit code that tells a script that something waits.
WAITING = 3

_OPTIONS = (
    click.option(
        "-f", "--filename", "paths", multiple=True, required=True, metavar="PATH", type=click.Path(allow_dash=True),
        help="Manifests: a file, a folder, or - for the standard input. May be given several times.",
    ),
    click.option(
        "--conf", metavar="FILE", type=click.Path(allow_dash=True),
        help="The scheduler's configuration: a volcano-scheduler.conf or the ConfigMap that holds it. "
        "Without it the default configuration holds.",
    ),
    click.option(
        "--cycles", type=click.IntRange(1, 10_000), default=1, show_default=True, metavar="N",
        help="How many scheduling cycles to run. Between them bound pods run and evicted pods are gone.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, metavar="N",
        help="Which of equally good nodes comes first: 0 goes by name, any other number shuffles them.",
    ),
    click.option(
        "--scheduler-name", "scheduler_names", multiple=True, default=("stromboli", "volcano"), show_default=True,
        metavar="NAME", help="Pods without a node are scheduled when they name this scheduler. May be given several "
        "times.",
    ),
    click.option(
        "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
        help="A plugin or action of your own that the configuration may name. May be given several times.",
    ),
)  # fmt: skip


def scenario_options(command: Command) -> Command:
    """The options from which `read_scenario` makes a scenario."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything a plan depends on, read and checked."""

    objects: Sequence[KubeObject]
    program: Program
    cycles: int
    seed: int
    scheduler_names: Sequence[str]
    #: What was wrong with single objects, and what was passed over.
    warnings: list[str]
    #: Whether some object could not be read at all: whatever it asked for was not given.
    has_unread: bool = False

    def plan(self) -> Plan:
        """Run the cycles; a plugin that breaks ends the command with a sentence."""
        from stromboli.framework.plugin import PluginFailure
        from stromboli.planner.plan import make_plan

        try:
            return make_plan(
                self.objects,
                self.program,
                cycles=self.cycles,
                seed=self.seed,
                scheduler_names=self.scheduler_names,
            )
        except PluginFailure as error:
            raise Failure(error) from error

    def advise(self, plan: Plan, jobs: Sequence[str]) -> list[Advice]:
        """Explain jobs of the plan, and try out what would help."""
        from stromboli.framework.plugin import PluginFailure
        from stromboli.planner.advice import advise
        from stromboli.planner.trials import Trials

        trials = Trials(
            self.objects, self.program, cycles=self.cycles, seed=self.seed, scheduler_names=self.scheduler_names
        )
        try:
            return advise(plan, trials, jobs)
        except PluginFailure as error:
            raise Failure(error) from error


def read_scenario(
    paths: Sequence[str],
    conf: str | None,
    cycles: int,
    seed: int,
    scheduler_names: Sequence[str],
    plugins: Sequence[str],
) -> Scenario:
    """Read what the options name. Whatever cannot be used ends the command with a sentence."""
    from stromboli.kube.manifests import ManifestError, read_manifests
    from stromboli.planner.oversights import oversights

    if conf == "-" and "-" in paths:
        raise click.UsageError("-f and --conf cannot both read the standard input.")
    registry = read_registry(plugins)
    configuration = _configuration(conf, registry)
    try:
        manifests = read_manifests(paths, sys.stdin)
    except ManifestError as error:
        raise Failure(error) from error
    warnings = [*(str(problem) for problem in manifests.problems), *manifests.notes]
    warnings += oversights(manifests.objects, scheduler_names)
    program = _program(configuration, registry)
    return Scenario(
        manifests.objects, program, cycles, seed, scheduler_names, warnings, has_unread=bool(manifests.problems)
    )


def _program(configuration: Configuration, registry: Registry) -> Program:
    from stromboli.framework.plugin import PluginFailure
    from stromboli.framework.program import Program

    try:
        return Program(configuration, registry)
    except PluginFailure as error:
        raise Failure(error) from error


def read_registry(plugins: Sequence[str]) -> Registry:
    from stromboli.cli.registry import built_in_registry
    from stromboli.framework.registry import RegistrationError

    try:
        return built_in_registry(plugins)
    except RegistrationError as error:
        raise Failure(error) from error


def read_configuration_text(file: str) -> str:
    """The text, or of a huge file just more than a configuration may have.

    Bytes that are not UTF-8 are passed on: the parser refuses them too, and names the line.
    """
    from stromboli.framework.yaml_lines import MAXIMUM_BYTES

    try:
        with click.open_file(file, "rb") as stream:
            content: bytes = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror}") from error
    return content.decode("utf-8", "surrogateescape")


def _configuration(conf: str | None, registry: Registry) -> Configuration:
    from stromboli.framework.configuration import ConfigurationError, default_configuration, parse_configuration

    if conf is None:
        return default_configuration(registry)
    source = "standard input" if conf == "-" else conf
    try:
        return parse_configuration(read_configuration_text(conf), registry, source)
    except ConfigurationError as error:
        raise Failure(error) from error
