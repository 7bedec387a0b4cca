"""Alibaba's GPU cluster of 2023 (openb), as the authors of FGD publish it: a list of nodes and a list of pods.

A pod has fractions of one GPU in `gpu_milli`, or `num_gpu` whole ones. Some lists have no times: their pods arrive in
order, at the start, and do not end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stromboli.traces.rejects import RejectedRows, RowProblem
from stromboli.traces.source import rows_of
from stromboli.traces.trace import (
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    UNKNOWN,
    Trace,
    TraceError,
    TraceHeader,
    TraceJob,
    TraceNode,
    sorted_jobs,
)

NAME = "openb"
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_STATUSES = {"Running": RUNNING, "Succeeded": COMPLETED, "Failed": FAILED, "Pending": PENDING}
_MIB = 1 << 20


def read_openb(path: str, nodes: str = "") -> Trace:
    rejected = RejectedRows()
    known = read_nodes(nodes) if nodes else []
    header = TraceHeader(nodes=len(known) or None)
    return Trace(path, NAME, lambda: iter(sorted_jobs(_jobs(path, rejected))), header, known, rejected)


def read_nodes(path: str) -> list[TraceNode]:
    """Read a list of nodes. Raises TraceError for the first invalid one: a smaller cluster would be another one."""
    nodes = []
    for number, row in _table(path, NODE_COLUMNS):
        try:
            amounts = [_amount(row, name) for name in ("cpu_milli", "memory_mib", "gpu")]
        except RowProblem as problem:
            raise TraceError(f"{path}:{number}: {problem}; correct the row or remove the node") from problem
        cpu, memory, gpus = amounts
        nodes.append(TraceNode(row["sn"], cpu, memory * _MIB, gpus * 1000, row["model"] if gpus else ""))
    if not nodes:
        raise TraceError(f"{path}: no nodes; rows with {', '.join(NODE_COLUMNS)} are expected")
    return nodes


def _jobs(path: str, rejected: RejectedRows) -> Iterator[TraceJob]:
    rejected.clear()
    for number, row in _table(path, POD_COLUMNS):
        try:
            yield _job(row, number)
        except RowProblem as problem:
            rejected.add(problem.rule, f"{path}:{number}", problem.detail)


def _table(path: str, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield rows by column. Raises TraceError if a column is missing."""
    rows = rows_of(path)
    number, names = next(rows, (1, []))
    if missing := [name for name in columns if name not in names]:
        raise TraceError(f"{path}:{number}: no columns {', '.join(missing)}; the first line must name the columns")
    for number, row in rows:
        yield number, dict(zip(names, row, strict=False))


def _job(row: Mapping[str, str], number: int) -> TraceJob:
    cpu, memory, gpus, milli = (_amount(row, name) for name in POD_COLUMNS[1:])
    if gpus and not (milli == 1000 or (gpus == 1 and 0 < milli < 1000)):
        raise RowProblem("invalid GPUs", f"num_gpu {gpus}, gpu_milli {milli}")
    created, deleted, scheduled = (_time(row, name) for name in ("creation_time", "deletion_time", "scheduled_time"))
    run_time = None if deleted is None or scheduled is None else deleted - scheduled
    if run_time is not None and run_time < 0:
        raise RowProblem("ends before it starts", f"scheduled at {scheduled:g}, deleted at {deleted:g}")
    waited = None if created is None or scheduled is None else scheduled - created
    models = tuple(filter(None, row.get("gpu_spec", "").split("|")))
    return TraceJob(
        name=row["name"], submitted=created or 0.0, run_time=run_time, cpu=cpu, memory=memory * _MIB,
        gpu=gpus * milli, gpu_models=models, waited=waited, queue=row.get("qos", ""),
        status=_STATUSES.get(row.get("pod_phase", ""), UNKNOWN), line=number,
    )  # fmt: skip


def _amount(row: Mapping[str, str], name: str) -> int:
    text = row.get(name, "")
    if not text.isdecimal():
        raise RowProblem(f"invalid {name}", repr(text))
    return int(text)


def _time(row: Mapping[str, str], name: str) -> float | None:
    text = row.get(name) or ""
    if not text:
        return None
    if not text.isdecimal():
        raise RowProblem(f"invalid {name}", repr(text))
    return float(text)
