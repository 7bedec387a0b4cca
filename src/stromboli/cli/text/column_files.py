"""Columns as files for tables of other programs: CSV, and Apache Parquet."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.cli.output import Failure


def csv_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return the columns as CSV; None is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().removesuffix("\n")


def echo_parquet(columns: Mapping[str, Sequence[Any]], name: str) -> None:
    """Write a Parquet file to the standard output; `name` is what a message calls it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise Failure("Parquet needs pyarrow: pip install 'stromboli[lab]'") from error
    if sys.stdout.isatty():
        raise Failure(f"Parquet is binary; redirect it to a file: -o parquet > {name}.parquet")
    parquet.write_table(pyarrow.table({key: list(values) for key, values in columns.items()}), sys.stdout.buffer)
