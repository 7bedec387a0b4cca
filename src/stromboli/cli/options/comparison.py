"""Options of comparisons of policies on a trace."""

from __future__ import annotations

import click

from stromboli.cli.options.settings import option_group

_WHOLE_FILE = click.Path(dir_okay=False)
_FOLDER = click.Path(file_okay=False)
#: The options that make a simulated trace a comparison.
COMPARISON_PARAMETERS = (
    "seeds", "workers", "dask", "results", "parquet", "pictures", "report", "figures", "perfetto",
)  # fmt: skip

comparison_options = option_group(
    click.option(
        "--seeds", type=click.IntRange(1), metavar="N",
        help="Run each policy with N seeds, from --seed on, by default from 1, for confidence intervals.",
    ),
    click.option(
        "--workers", type=click.IntRange(1), metavar="N",
        help="Processes that run policies and seeds at the same time. Default: one per processor.",
    ),
    click.option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler: tcp://HOST:8786."),
    click.option(
        "--results", metavar="DIR", type=_FOLDER,
        help="Keep finished runs here, and use those that are here. A comparison that was interrupted continues.",
    ),
    click.option(
        "--parquet", metavar="FILE", type=_WHOLE_FILE, help="Write a row per job and run as an Apache Parquet file."
    ),
    click.option(
        "--figures", metavar="FILE", type=_WHOLE_FILE,
        help="Write every figure of each run, also by queue, user and size, as CSV, or as Parquet for *.parquet.",
    ),
    click.option(
        "--perfetto", metavar="FILE", type=_WHOLE_FILE,
        help="Write jobs on nodes, with the first seed, as a trace for ui.perfetto.dev. A name with .gz is compressed.",
    ),
    click.option(
        "--report", metavar="FILE", type=_WHOLE_FILE,
        help="Write verdict, tables and pictures as one HTML file, which opens without a network.",
    ),
    click.option(
        "--pictures", metavar="DIR", type=_FOLDER,
        help="Draw waits, utilisation, Gantt charts and more as SVG and PNG: over time with the first seed.",
    ),
)  # fmt: skip
