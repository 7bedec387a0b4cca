"""Rows of jobs and figures as Arrow tables and Parquet files, for pandas, Polars, DuckDB and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stromboli.lab.comparison.rows import FigureRow
from stromboli.lab.extra import MissingExtra
from stromboli.simulator.results.job_table import NUMBERS, TEXTS, JobOutcome, JobTable

if TYPE_CHECKING:
    import pyarrow


def arrow_table(jobs: JobTable, **constants: str | int) -> pyarrow.Table:
    """Return the columns of `simulate --csv`: unknown times are null, and texts are dictionaries.

    `constants` are further columns before these, with one value. Raises MissingExtra.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("lab") from error
    columns: dict[str, pa.Array] = {}
    for name, value in constants.items():
        if isinstance(value, int):
            columns[name] = pa.array(np.full(len(jobs), value))
        else:
            columns[name] = pa.DictionaryArray.from_arrays(np.zeros(len(jobs), dtype=np.int32), pa.array([value]))
    columns["name"] = pa.array(jobs.names, type=pa.string())
    for name in TEXTS[1:]:
        codes, texts = jobs.codes(name)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(texts), type=pa.string()))
    for name in NUMBERS:
        values = jobs.column(name)
        columns[name] = pa.array(values, mask=np.isnan(values))
    outcomes = pa.array([outcome.name.lower() for outcome in JobOutcome])
    codes = jobs.column("outcome").astype(np.int32)
    columns["outcome"] = pa.DictionaryArray.from_arrays(pa.array(codes), outcomes)
    return pa.table(columns)


def write_parquet(tables: Iterable[tuple[Mapping[str, str | int], JobTable]], path: Path) -> None:
    """Write the jobs of several tables, one after the other, so that only one is in memory. Raises MissingExtra."""
    try:
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise MissingExtra("lab") from error
    part, writer = path.with_name(f"{path.name}.part"), None
    try:
        for constants, jobs in tables:
            table = arrow_table(jobs, **constants)
            writer = writer or ParquetWriter(part, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is not None:
            writer.close()
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_figures(rows: Iterable[FigureRow], path: Path) -> None:
    """Write a row per figure as a Parquet file. Raises MissingExtra."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import write_table
    except ImportError as error:
        raise MissingExtra("lab") from error
    part = path.with_name(f"{path.name}.part")
    columns = zip(*rows, strict=True)
    try:
        write_table(pa.table(dict(zip(FigureRow._fields, map(list, columns), strict=True))), part, compression="zstd")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
