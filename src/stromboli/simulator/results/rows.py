"""The table of jobs as CSV, a row per job."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from typing import TextIO

from stromboli.simulator.results.job_table import JobResult, JobTable

COLUMNS = JobResult._fields


def write_jobs(table: JobTable, file: TextIO) -> None:
    """Write a line of names and a line per job. What is not known is empty."""
    write_all_jobs([((), table)], file, ())


def write_all_jobs(tables: Iterable[tuple[Sequence[object], JobTable]], file: TextIO, before: Sequence[str]) -> None:
    """Write the jobs of several tables, with values of each table in further columns before those of the jobs."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow((*before, *COLUMNS))
    for values, table in tables:
        writer.writerows((*values, *_cells(row)) for row in table.rows())


def _cells(row: JobResult) -> Iterator[object]:
    for value in row[:-1]:
        yield _number(value) if isinstance(value, float) else value
    yield row.outcome.name.lower()


def _number(value: float) -> object:
    if isnan(value):
        return ""
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded
