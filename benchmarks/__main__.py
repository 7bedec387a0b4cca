"""`python -m benchmarks NAME`; `--help` lists the options."""

from __future__ import annotations

import json
import subprocess
import sys

import click

from benchmarks.scale import SITUATIONS
from benchmarks.workloads import WORKLOADS


@click.command(epilog="Workloads: " + "; ".join(f"{n} ({text})" for n, (_, _, text) in WORKLOADS.items()) + ".")
@click.argument("name", type=click.Choice([*WORKLOADS, "all"]))
@click.option("--nodes", type=click.IntRange(1), help="Number of nodes.")
@click.option("--pods", type=click.IntRange(1), help="Number of pods.")
@click.option("--queues", type=click.IntRange(1), help="Number of queues, for workloads that have several.")
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Cycles; the fastest counts.")
@click.option("--days", type=click.IntRange(1), help="Number of days of `contended-days`.")
@click.option("--minutes", type=click.IntRange(1), help="Duration of `soak`.")
@click.option("--situation", type=click.Choice([*SITUATIONS]), multiple=True, help="Part of `scale`; repeatable.")
@click.option("-o", "--output", type=click.Choice(["json", "text"]), default="json", show_default=True)
def main(
    name: str,
    nodes: int | None,
    pods: int | None,
    queues: int | None,
    runs: int,
    days: int | None,
    minutes: int | None,
    situation: tuple[str, ...],
    output: str,
) -> None:
    """Measure a workload. `all` runs each in a process of its own and prints a line of JSON per result."""
    if name == "all":
        for each in WORKLOADS:
            command = [sys.executable, "-m", "benchmarks", each, "--runs", str(runs), "-o", output]
            subprocess.run(command, check=True)
        return
    workload, parameters, _ = WORKLOADS[name]
    given = {"nodes": nodes, "pods": pods, "queues": queues, "days": days, "minutes": minutes}
    unknown = [key for key, value in given.items() if value is not None and key not in parameters]
    if unknown:
        raise click.UsageError(f"{name} has no option --{unknown[0]}")
    parameters = parameters | {key: value for key, value in given.items() if value is not None}
    if situation and name != "scale":
        raise click.UsageError(f"{name} has no option --situation")
    for result in workload(parameters, runs, *([situation] if situation else [])):
        if output == "json":
            print(json.dumps(result.as_dict()), flush=True)
        else:
            rate = result.more.get("claims_per_second")
            rate_text = f"{result.placements_per_second:,.0f}/s" if rate is None else f"{rate:,.0f} preemptors/s"
            print(f"{result.name} {result.parameters}: {result.seconds:.4f} s, {rate_text}", flush=True)


main()
