"""`stromboli scheduler`: the scheduler process of a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.connection import (
    api_rate_options,
    certificate_options,
    connection_options,
    connector,
    endpoint_options,
    log_options,
    tls_of,
)
from stromboli.cli.options.election import election_of, election_options
from stromboli.cli.options.history import bounds_of, history_options
from stromboli.cli.options.ignored_flags import ignored_flags, warn_about_ignored
from stromboli.cli.options.settings import (
    DURATION,
    Duration,
    address,
    plugin_option,
    scheduler_name_option,
    seed_option,
    setting,
    switch,
)
from stromboli.cli.options.shards import (
    election_of_shard,
    parse_node_selector,
    settings_of_shard,
    shard_of,
    shard_options,
)
from stromboli.cli.output import Failure
from stromboli.cli.policies import read_registry

if TYPE_CHECKING:
    from stromboli.binding.plugins.plugin import BinderPlugin
    from stromboli.core.config.registry import Registry
    from stromboli.observability.metrics.scheduler import SchedulerMetrics
    from stromboli.scheduler.policy import ActivePolicy
    from stromboli.scheduler.process import SchedulerSettings

_EPILOG = """\b
Examples:
  stromboli scheduler --kubeconfig ~/.kube/config --conf policy.conf
  stromboli scheduler --leader-elect --leader-elect-resource-namespace batch \\
    --listen-address :8080
  STROMBOLI_SCHEDULE_PERIOD=500ms stromboli scheduler --log-format json

\b
Signals:
  TERM, INT  complete the binds in flight, release the lease, exit
  HUP        reload the configuration file
  USR1       write a dump for stromboli replay
  USR2       write a dump, and compare the cache with the API server

\b
Exit codes:
  0  stopped by a signal
  1  invalid input, or the scheduler failed
  2  wrong usage
  5  leadership lost
  6  a cycle did not end; the lease is given up
"""


@click.command(epilog=_EPILOG)
@connection_options
@scheduler_name_option("Schedule pods with this scheduler name. Repeatable.", setting)
@setting(
    "--scheduler-conf", "--conf", default="", metavar="FILE", type=click.Path(allow_dash=True),
    help="The policy; reloaded when it changes. Or - for the standard input.",
)  # fmt: skip
@setting(
    "--schedule-period", type=Duration(0.01), default="1s", help="The maximum time from an event to the next cycle."
)
@setting("--default-queue", default="default", metavar="NAME", help="The queue of groups without a queue.")
@setting(
    "--node-selector", "node_selector", multiple=True, metavar="KEY:VALUE",
    help="Use only nodes with this label. Several values of one key are alternatives.",
)  # fmt: skip
@shard_options(setting)
@setting(
    "--shard-takeover", type=DURATION, default="30s",
    help="Take over the nodes of shards whose scheduler has been gone for this time; 0: never.",
)  # fmt: skip
@api_rate_options
@setting(
    "--bind-mode", type=click.Choice(("direct", "request")),
    help="Bind pods, or write bind requests for a binder. Default: that of the configuration, else direct.",
)  # fmt: skip
@setting("--bind-workers", type=click.IntRange(1, 1024), default=32, help="Concurrent binds.")
@setting(
    "--bind-batch", type=click.IntRange(1, 1024), default=1,
    help="Gang members that one worker binds in sequence.",
)  # fmt: skip
@setting("--evict-workers", type=click.IntRange(1, 256), default=32, help="Concurrent evictions.")
@switch("--evict-by-delete", help="Evict by deleting pods, ignoring disruption budgets.")
@setting("--event-qps", type=click.FloatRange(min=0), default=50.0, help="Events per second; 0: no limit.")
@setting("--status-workers", type=click.IntRange(1, 256), default=8, help="Concurrent status writes.")
@setting(
    "--recovery-period", type=DURATION, default="30s", help="How long a gang may stay half-bound before it is evicted."
)
@setting(
    "--audit-period", type=DURATION, default="1s", help="How often a part of the cluster state is audited; 0: never."
)
@setting(
    "--cycle-budget", type=DURATION, default="30s",
    help="The time of all jobs of a cycle; when it is spent, the most expensive ones are set aside. 0: no limit.",
)  # fmt: skip
@setting(
    "--job-budget", type=DURATION, default="5s",
    help="The time of one job in a cycle; beyond it, the job is set aside and later tried alone. 0: no limit.",
)  # fmt: skip
@setting(
    "--stuck-after", type=DURATION, default="60s",
    help="Give up the lease and exit when a cycle does not advance for this time. 0: never.",
)  # fmt: skip
@setting("--grace-period", type=DURATION, default="10s", help="How long a stop waits for binds in flight.")
@seed_option(setting)
@election_options("stromboli")
@endpoint_options("127.0.0.1:8080", "127.0.0.1:11251")
@certificate_options
@address("--visibility-address", "", "Answer people who may not read the cluster, over https; empty to disable.")
@setting(
    "--cache-dump-dir", default="", metavar="FOLDER", type=click.Path(file_okay=False),
    help="The folder for dumps; default: the temporary folder.",
)  # fmt: skip
@history_options
@setting(
    "--forecast-period", type=DURATION, default="5m",
    help="How often the starts of waiting jobs are forecast, by a process of the lowest priority; 0: never.",
)  # fmt: skip
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
@log_options
@ignored_flags
def scheduler(**options: Any) -> None:
    """Schedule the pods of a cluster, until stopped."""
    from stromboli.observability.logs import set_up_logs
    from stromboli.scheduler.policy import PolicyError
    from stromboli.scheduler.process import SchedulerProcess
    from stromboli.scheduler.sharding.settings import ShardSettingsError
    from stromboli.serving.address import ListenError
    from stromboli.serving.tls import InvalidCertificate

    warn_about_ignored(options)
    settings = _settings(options)
    set_up_logs(log_format=options["log_format"], level=options["log_level"])
    try:
        sys.exit(asyncio.run(SchedulerProcess(settings).run()))
    except (PolicyError, ShardSettingsError, ListenError, InvalidCertificate) as error:
        raise Failure(error) from error


def _settings(arguments: Mapping[str, Any]) -> SchedulerSettings:
    from stromboli.scheduler.options import SchedulerOptions
    from stromboli.scheduler.process import SchedulerSettings

    registry = read_registry(arguments["plugins"])
    connect = connector(arguments)
    shard = shard_of(arguments)
    election = election_of(arguments, connect().namespace)
    if shard is not None:
        election = election_of_shard(shard, election, arguments["scheduler_names"])
    options = SchedulerOptions(
        scheduler_names=tuple(arguments["scheduler_names"]),
        seed=arguments["seed"],
        default_queue=arguments["default_queue"],
        node_selector=parse_node_selector(arguments["node_selector"]),
        period=arguments["schedule_period"],
        bind_mode=arguments["bind_mode"] or "",
        bind_workers=arguments["bind_workers"],
        bind_batch=arguments["bind_batch"],
        evict_workers=arguments["evict_workers"],
        evict_by_delete=arguments["evict_by_delete"],
        status_workers=arguments["status_workers"],
        event_rate=arguments["event_qps"],
        heal=arguments["recovery_period"],
        grace=arguments["grace_period"],
        audit=arguments["audit_period"],
        cycle_budget=arguments["cycle_budget"],
        job_budget=arguments["job_budget"],
        stuck_after=arguments["stuck_after"],
        dump_folder=arguments["cache_dump_dir"],
        forecast=arguments["forecast_period"],
        plugins=tuple(arguments["plugins"]),
        history=arguments["history"],
        history_bounds=bounds_of(arguments),
        shard=settings_of_shard(shard, election, arguments["shard_takeover"]) if shard and election else None,
    )
    return SchedulerSettings(
        connect=connect,
        policy=lambda metrics: _policy(registry, arguments, metrics),
        options=options,
        binder_plugins=_binder_plugins(),
        election=election,
        metrics_address=arguments["listen_address"],
        health_address=arguments["healthz_address"],
        always_allowed_paths=arguments["authorization_always_allow_paths"],
        tls=tls_of(arguments),
        visibility_address=arguments["visibility_address"],
        api_rate=arguments["kube_api_qps"],
        api_burst=arguments["kube_api_burst"],
    )


def _binder_plugins() -> list[BinderPlugin]:
    """Binder plugins of installed packages, which direct binding runs after the built-in ones."""
    from stromboli.binding.plugins.loading import BUILT_IN, UnusablePlugin, load_plugins

    try:
        return [plugin for plugin in load_plugins(BUILT_IN) if type(plugin) not in BUILT_IN]
    except UnusablePlugin as error:
        raise Failure(error) from error


def _policy(registry: Registry, arguments: Mapping[str, Any], metrics: SchedulerMetrics) -> ActivePolicy:
    import logging

    from stromboli.external.extenders import HttpExtenders
    from stromboli.scheduler.policy import ActivePolicy

    log = logging.getLogger("stromboli.policy")

    def report(policy: ActivePolicy) -> None:
        metrics.configuration_loaded("rejected" if policy.problem else "accepted", len(policy.warnings))
        if policy.problem:
            log.error("configuration rejected; the last valid one stays active", extra={"error": policy.problem})
            return
        log.info("configuration loaded", extra={"file": arguments["scheduler_conf"]})
        for warning in policy.warnings:
            log.warning("configuration warning", extra={"warning": warning})

    return ActivePolicy(registry, arguments["scheduler_conf"], report=report, outside=HttpExtenders())
