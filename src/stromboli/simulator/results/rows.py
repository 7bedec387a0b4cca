"""The table of jobs as CSV, a row per job."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import isnan
from typing import TextIO

from stromboli.simulator.results.job_table import JobResult, JobTable

COLUMNS = JobResult._fields


def write_jobs(table: JobTable, file: TextIO) -> None:
    """Write a line of names and a line per job. What is not known is empty."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row) for row in table.rows())


def _cells(row: JobResult) -> Iterator[object]:
    for value in row[:-1]:
        yield _number(value) if isinstance(value, float) else value
    yield row.outcome.name.lower()


def _number(value: float) -> object:
    if isnan(value):
        return ""
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded
