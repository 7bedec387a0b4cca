"""The common input of `plan`, `explain` and `simulate`: manifests, a configuration, and the number of cycles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from stromboli.cli.options.settings import (
    conf_option,
    option_group,
    paths_option,
    plugin_option,
    reject_options,
    scheduler_name_option,
    seed_option,
    shown_option,
)
from stromboli.cli.options.shards import shard_of, shard_options
from stromboli.cli.options.times import clock_unless, now_option
from stromboli.cli.output import Failure, echo_tracebacks, plugin_failure

if TYPE_CHECKING:
    from stromboli.cluster.dump.dump import Dump
    from stromboli.core.config.configuration import Configuration
    from stromboli.core.config.external_services import ExternalServices
    from stromboli.core.config.registry import Registry
    from stromboli.core.model.nodes.shards import ShardChoice
    from stromboli.core.session.program import Program
    from stromboli.kube import KubeObject
    from stromboli.planner.advice import Advice
    from stromboli.planner.plan import SchedulingPlan
    from stromboli.planner.trials import OpenCluster, Trials

#: Why options of a scheduler have no effect on its dump.
IN_DUMP = "on a dump, which contains its own value"
#: The exit code if a job waits.
WAITING = 3
#: Further objects are only counted.
_MAX_NAMED = 5

_CYCLES = click.option(
    "--cycles", type=click.IntRange(1, 10_000), default=1, show_default=True, metavar="N",
    help="Number of scheduling cycles. Between cycles bound pods run and evicted pods are deleted.",
)  # fmt: skip
_NOW = now_option(
    "The current time of the plan, such as 2026-01-01T12:00:00Z, for reproducible results. Default: the clock."
)
#: The option for manifests.
PATHS = paths_option("Or a scheduler dump, which has its own configuration, seed and scheduler names.", required=True)
_OPTIONS = (
    PATHS,
    conf_option(),
    _CYCLES,
    _NOW,
    seed_option(),
    scheduler_name_option("Schedule pods with this scheduler name. Repeatable."),
    plugin_option("Your own plugin or action that the policy may name. Repeatable."),
    click.option(
        "--ask-extenders", is_flag=True,
        help="Call the configured extenders. Without it they are not called, with a warning.",
    ),
    shard_options(shown_option),
    click.option(
        "--traceback", is_flag=True,
        help="Print the whole Python traceback of every error in a plugin or action to the standard error.",
    ),
)  # fmt: skip


#: The options of `read_scenario`.
scenario_options = option_group(*_OPTIONS)
#: The same without the number of cycles and the time, which are simulated.
simulation_options = option_group(*(option for option in _OPTIONS if option not in (_CYCLES, _NOW)))


@dataclass(frozen=True, slots=True)
class Scenario:
    """The validated input of a plan."""

    objects: Sequence[KubeObject]
    program: Program
    cycles: int
    seed: int
    scheduler_names: Sequence[str]
    #: Invalid and skipped objects.
    warnings: list[str]
    #: Whether an object could not be decoded; it counts as waiting.
    has_unread: bool = False
    #: Objects with pods that are not known, such as `Foo default/x`; they count as waiting too.
    unjudged: Sequence[str] = ()
    #: A scheduler dump, if used instead of manifests.
    dump: Dump | None = None
    #: The shard of the scheduler; a dump contains its own.
    shard: ShardChoice | None = None
    #: The current time, in seconds since the epoch; a dump contains its own.
    now: float | None = None
    #: Adds the file and the line to a message about an object.
    located: Callable[[str], str] = str

    @property
    def is_judged(self) -> bool:
        """Report whether every object could be decoded, and its pods are known."""
        return not self.has_unread and not self.unjudged

    def plan(self) -> SchedulingPlan:
        """Run the cycles; a plugin failure ends the command with a message."""
        plan = self._plan()
        plan.warnings = [self.located(warning) for warning in plan.warnings]
        return plan

    def _plan(self) -> SchedulingPlan:
        from stromboli.core.config.plugin import PluginFailure
        from stromboli.planner.plan import make_plan
        from stromboli.planner.replay import replay

        try:
            if self.dump is not None:
                return replay(self.dump, self.program, self.cycles)
            return make_plan(
                self.objects, self.program, cycles=self.cycles, seed=self.seed, scheduler_names=self.scheduler_names,
                shard=self.shard, now=self.now,
            )  # fmt: skip
        except PluginFailure as error:
            raise plugin_failure(error) from error

    def open(self, objects: Sequence[KubeObject] | None = None) -> OpenCluster:
        """Return the present state before any decision; with other objects, if given. A plugin failure ends the
        command.
        """
        from stromboli.core.config.plugin import PluginFailure

        try:
            return self._trials().open(objects)
        except PluginFailure as error:
            raise plugin_failure(error) from error

    def changed_decisions(self, plan: SchedulingPlan) -> list[str] | None:
        """Return the differences to the decisions of the dump; None if it has none."""
        from stromboli.planner.replay import changed_decisions

        if self.dump is None or self.dump.decisions is None:
            return None
        return changed_decisions(self.dump.decisions, plan)

    def advise(self, plan: SchedulingPlan, jobs: Sequence[str]) -> list[Advice]:
        """Explain jobs of the plan, and search remedies."""
        from stromboli.core.config.plugin import PluginFailure
        from stromboli.planner.advice import advise

        try:
            return advise(plan, self._trials(), jobs)
        except PluginFailure as error:
            raise plugin_failure(error) from error

    def _trials(self) -> Trials:
        from stromboli.planner.replay import DumpTrials
        from stromboli.planner.trials import Trials

        if self.dump is not None:
            return DumpTrials(self.dump, self.program, cycles=self.cycles)
        return Trials(
            self.objects, self.program, cycles=self.cycles, seed=self.seed, scheduler_names=self.scheduler_names,
            shard=self.shard, now=self.now,
        )  # fmt: skip


def read_scenario(
    paths: Sequence[str],
    conf: str | None,
    cycles: int,
    seed: int,
    scheduler_names: Sequence[str],
    plugins: Sequence[str],
    ask_extenders: bool = False,
    traceback: bool = False,
    now: float | None = None,
    **shard_arguments: str,
) -> Scenario:
    """Read the input. Invalid input ends the command with a message."""
    from stromboli.cluster.dump.dump import is_dump
    from stromboli.kube.manifests.manifests import ManifestError
    from stromboli.planner.missing_objects import find_missing_objects
    from stromboli.workloads.reading import read_with_workloads

    shard = shard_of(shard_arguments)
    if len(paths) == 1 and is_dump(paths[0]):
        reject_options(("now", "seed", "scheduler_names", *shard_arguments), IN_DUMP)
        return read_dumped(paths[0], conf, cycles, plugins, ask_extenders=ask_extenders, traceback=traceback)
    if conf == "-" and "-" in paths:
        raise click.UsageError("-f and --conf cannot both read the standard input.")
    registry = read_registry(plugins)
    configuration = _configuration(conf, registry)
    try:
        manifests = read_with_workloads(paths, sys.stdin, scheduler_names=scheduler_names)
    except ManifestError as error:
        raise Failure(error) from error
    missing = find_missing_objects(manifests.objects, scheduler_names, manifests.unread)
    warnings = [*manifests.warnings, *map(manifests.origins.located, missing), *unjudged_warning(manifests.unjudged)]
    program = _program(configuration, registry, ask_extenders=ask_extenders, traceback=traceback)
    return Scenario(
        manifests.objects, program, cycles, seed, scheduler_names, warnings, has_unread=bool(manifests.problems),
        unjudged=manifests.unjudged, shard=shard, now=clock_unless(now), located=manifests.origins.located,
    )  # fmt: skip


def unjudged_warning(unjudged: Sequence[str]) -> list[str]:
    """Count and name the objects whose pods are not known."""
    if not unjudged:
        return []
    named = ", ".join(unjudged[:_MAX_NAMED])
    more = f" and {len(unjudged) - _MAX_NAMED} more" if len(unjudged) > _MAX_NAMED else ""
    things = "1 object" if len(unjudged) == 1 else f"{len(unjudged)} objects"
    return [f"{things} could not be judged: {named}{more}"]


def read_dumped(
    path: str,
    conf: str | None,
    cycles: int,
    plugins: Sequence[str],
    *,
    ask_extenders: bool = False,
    traceback: bool = False,
) -> Scenario:
    """Read a dump, with its own or another configuration."""
    from stromboli.cluster.dump.dump import DumpError, read_dump

    try:
        dump = read_dump(path)
    except DumpError as error:
        raise Failure(error) from error
    registry = read_registry(plugins)
    if conf is None and dump.configuration:
        configuration = parse_policy(dump.configuration, registry, f"{path}[configuration]")
    else:
        configuration = _configuration(conf, registry)
    names, seed = tuple(dump.contents.scheduler_names), dump.contents.seed
    program = _program(configuration, registry, ask_extenders=ask_extenders, traceback=traceback)
    return Scenario((), program, cycles, seed, names, [], dump=dump)


def _program(
    configuration: Configuration, registry: Registry, *, ask_extenders: bool, traceback: bool = False
) -> Program:
    from stromboli.core.config.plugin import PluginFailure
    from stromboli.core.session.program import Program

    try:
        program = Program(configuration, registry, _extenders() if ask_extenders else None)
    except PluginFailure as error:
        raise plugin_failure(error) from error

    if traceback:
        program.errors = []
        click.get_current_context().call_on_close(partial(echo_tracebacks, program.errors))
    return program


def _extenders() -> ExternalServices:
    """Return a client for extenders, which is closed with the command."""
    from stromboli.external.extenders import HttpExtenders

    extenders = HttpExtenders()
    click.get_current_context().call_on_close(extenders.close)
    return extenders


def read_registry(plugins: Sequence[str]) -> Registry:
    from stromboli.cli.registry import built_in_registry
    from stromboli.core.config.registry import RegistrationError

    try:
        return built_in_registry(plugins)
    except RegistrationError as error:
        raise Failure(error) from error


def read_configuration_text(file: str) -> str:
    """Read at most one byte more than a configuration may have.

    Bytes that are not UTF-8 are passed on: the parser rejects them with the line.
    """
    from stromboli.core.config.yaml_lines import MAXIMUM_BYTES
    from stromboli.kube.manifests.errors import path_problem

    try:
        with click.open_file(file, "rb") as stream:
            content: bytes = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise Failure(path_problem(file, error)) from error
    return content.decode("utf-8", "surrogateescape")


def _configuration(conf: str | None, registry: Registry) -> Configuration:
    from stromboli.core.config.configuration import default_configuration

    if conf is None:
        return default_configuration(registry)
    return parse_policy(read_configuration_text(conf), registry, conf)


def parse_policy(text: str, registry: Registry, source: str) -> Configuration:
    """Parse a policy; errors end the command. `source` is its file, or - for the standard input."""
    from stromboli.core.config.configuration import ConfigurationError, parse_configuration

    try:
        return parse_configuration(text, registry, "standard input" if source == "-" else source)
    except ConfigurationError as error:
        raise Failure(error) from error
