"""The common input of `plan`, `explain` and `simulate`: objects, a configuration, and the number of cycles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_source import ClusterSource
from stromboli.cli.options.live import LIVE_PARAMETERS, live_options
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
from stromboli.cli.options.shards import SHARD_PARAMETERS, shard_of, shard_options
from stromboli.cli.options.times import clock_unless, now_option
from stromboli.cli.output import Failure, echo_tracebacks, plugin_failure
from stromboli.cli.plan_input import JobSelection, SchedulerChoice, read_input
from stromboli.cli.policies import parse_policy, read_configuration, read_registry

if TYPE_CHECKING:
    from stromboli.cluster.dump.dump import Dump
    from stromboli.core.config.configuration import Configuration
    from stromboli.core.config.external_services import ExternalServices
    from stromboli.core.config.registry import Registry
    from stromboli.core.model.nodes.shards import ShardChoice
    from stromboli.core.model.usage.ledger import UsageLedger
    from stromboli.core.session.program import Program
    from stromboli.kube import KubeObject
    from stromboli.planner.advice import Advice
    from stromboli.planner.plan import SchedulingPlan
    from stromboli.planner.trials import OpenCluster, Trials

#: Why options of a scheduler have no effect on its dump.
IN_DUMP = "on a dump, which contains its own value"
#: The exit code if a job waits.
WAITING = 3

_CYCLES = click.option(
    "--cycles", type=click.IntRange(1, 10_000), default=1, show_default=True, metavar="N",
    help="Number of scheduling cycles. Between cycles bound pods run and evicted pods are deleted.",
)  # fmt: skip
_OF_CLUSTER = "Default: that of the scheduler of the cluster, else the default configuration."
_CONF = conf_option(_OF_CLUSTER)
_NOW = now_option(
    "The current time of the plan, such as 2026-01-01T12:00:00Z, for reproducible results. Default: the clock."
)
#: The option for manifests.
PATHS = paths_option(
    "Or a scheduler dump, which has its own configuration, seed and scheduler names. Without files, the cluster of the "
    "kubeconfig is read; files without nodes are added to it."
)
#: The option for descriptions of kinds.
_KINDS = click.option(
    "--kinds", multiple=True, metavar="FILE", type=click.Path(allow_dash=True),
    help="Descriptions of further kinds: where their pod templates, replicas, minimum and queue are. Repeatable.",
)  # fmt: skip
_OPTIONS = (
    PATHS,
    _KINDS,
    live_options,
    _CONF,
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
forecast_options = option_group(*(option for option in _OPTIONS if option not in (_CYCLES, _NOW)))
#: The same with several policies for traces.
simulation_options = option_group(
    *(option for option in _OPTIONS if option not in (_CYCLES, _NOW, _CONF)),
    conf_option(f"{_OF_CLUSTER} Repeatable with --trace: the policies are compared.", multiple=True),
)


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
    #: Workloads without pods at present, with the reason, such as `is suspended`.
    inactive: Mapping[str, str] = field(default_factory=dict)
    #: A scheduler dump, if used instead of manifests.
    dump: Dump | None = None
    #: The shard of the scheduler; a dump contains its own.
    shard: ShardChoice | None = None
    #: The current time, in seconds since the epoch; a dump contains its own.
    now: float | None = None
    #: Adds the file and the line to a message about an object.
    located: Callable[[str], str] = str
    default_queue: str = "default"
    node_selector: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: The jobs that the output is about.
    selection: JobSelection = field(default_factory=JobSelection)
    #: Whether the objects are those of a cluster.
    is_live: bool = False
    #: The plugins and actions that the policy may name.
    registry: Registry | None = None
    #: What queues and users have used; None if it is not known.
    past_usage: UsageLedger | None = None
    #: The history that it is read from; empty for none.
    history: str = ""

    @property
    def is_judged(self) -> bool:
        """Report whether every object could be decoded, and its pods are known."""
        return not self.has_unread and not self.unjudged

    def plan(self) -> SchedulingPlan:
        """Run the cycles; a plugin failure ends the command with a message."""
        plan = self._plan()
        plan.warnings = [self.located(warning) for warning in plan.warnings]
        return plan

    def new_program(self) -> Program:
        """Return the same program anew: its plugins belong to the session that was opened last, so that further
        sessions need others while the plan is read.
        """
        from stromboli.core.session.program import Program

        return self.program if self.registry is None else Program(self.program.configuration, self.registry)

    @property
    def has_submission(self) -> bool:
        """Report whether the output is about jobs that are about to be submitted."""
        return self.selection.submission is not None

    def nameable(self, plan: SchedulingPlan) -> SchedulingPlan:
        """Return the part of the plan whose jobs the user may name."""
        return plan

    def shown(self, plan: SchedulingPlan) -> SchedulingPlan:
        """Return the part of the plan that the output is about."""
        from stromboli.planner.live.focus import limited_to

        jobs = self.selection.of(plan)
        return plan if jobs is None else limited_to(plan, jobs)

    def _plan(self) -> SchedulingPlan:
        from stromboli.core.config.plugin import PluginFailure
        from stromboli.planner.plan import make_plan
        from stromboli.planner.replay import replay

        try:
            if self.dump is not None:
                return replay(self.dump, self.program, self.cycles, self.past_usage)
            return make_plan(
                self.objects, self.program, cycles=self.cycles, seed=self.seed, scheduler_names=self.scheduler_names,
                shard=self.shard, now=self.now, default_queue=self.default_queue, node_selector=self.node_selector,
                past_usage=self.past_usage,
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

    def advise(self, plan: SchedulingPlan, jobs: Sequence[str], *, is_brief: bool = False) -> list[Advice]:
        """Explain jobs of the plan, and search remedies; in a large cluster a brief search tries none."""
        from stromboli.core.config.plugin import PluginFailure
        from stromboli.planner.advice import advise

        try:
            return advise(plan, self._trials(is_brief=is_brief), jobs)
        except PluginFailure as error:
            raise plugin_failure(error) from error

    def _trials(self, *, is_brief: bool = False) -> Trials:
        from stromboli.planner.replay import DumpTrials
        from stromboli.planner.trials import BRIEF_WORK, MAX_WORK, Trials

        if self.dump is not None:
            return DumpTrials(self.dump, self.program, cycles=self.cycles).include_past(self.past_usage)
        return Trials(
            self.objects, self.program, cycles=self.cycles, seed=self.seed, scheduler_names=self.scheduler_names,
            shard=self.shard, now=self.now, default_queue=self.default_queue, node_selector=self.node_selector,
            max_work=BRIEF_WORK if is_brief else MAX_WORK,
        ).include_past(self.past_usage)  # fmt: skip


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
    **further: Any,
) -> Scenario:
    """Read manifests, a dump, or a cluster. `further` are options of shards and clusters. Errors end the command."""
    from stromboli.cluster.dump.dump import is_dump

    shard = shard_of(further)
    if len(paths) == 1 and is_dump(paths[0]):
        reject_options(("now", "seed", "scheduler_names", *SHARD_PARAMETERS, *LIVE_PARAMETERS, "kinds"), IN_DUMP)
        return read_dumped(paths[0], conf, cycles, plugins, ask_extenders=ask_extenders, traceback=traceback)
    if conf == "-" and "-" in paths:
        raise click.UsageError("-f and --conf cannot both read the standard input.")
    registry = read_registry(plugins)
    configuration = None if conf is None else read_configuration(conf, registry)
    scheduler, moment = SchedulerChoice(tuple(scheduler_names), seed, shard), clock_unless(now)
    source = ClusterSource(further)
    found = read_input(paths, source, scheduler, moment)
    objects, warnings = found.objects, found.warnings
    if configuration is None:
        warnings = [*filter(None, [found.policy_note]), *warnings]
        configuration = parse_policy(found.policy[0], registry, found.policy[1]) if found.policy else None
    configuration = configuration or read_configuration(None, registry)
    program = _program(configuration, registry, ask_extenders=ask_extenders, traceback=traceback)
    if found.is_live:
        named, missing = source.read_named(program)
        objects, warnings = [*objects, *named], [*warnings, *missing]
    return Scenario(
        objects, program, cycles, found.scheduler.seed, found.scheduler.scheduler_names,
        warnings, has_unread=found.has_unread, shard=found.scheduler.shard, now=moment,
        located=found.located, default_queue=found.scheduler.default_queue,
        node_selector=found.scheduler.node_selector, selection=found.selection, is_live=found.is_live,
        unjudged=found.unjudged, inactive=found.inactive, registry=registry,
    )  # fmt: skip


def read_program(options: Mapping[str, Any]) -> Program:
    """Read the policy by the options of a command, without any objects."""
    registry = read_registry(options["plugins"])
    configuration = read_configuration(options["conf"], registry)
    return _program(configuration, registry, ask_extenders=options["ask_extenders"], traceback=options["traceback"])


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
        configuration = read_configuration(conf, registry)
    names, seed = tuple(dump.contents.scheduler_names), dump.contents.seed
    program = _program(configuration, registry, ask_extenders=ask_extenders, traceback=traceback)
    return Scenario((), program, cycles, seed, names, [], dump=dump, registry=registry)


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
