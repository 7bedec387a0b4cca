"""The format of a trace: declared, or found by the name and the first line of the file."""

from __future__ import annotations

from stromboli.traces.formats import columns, openb, own, sacct, swf
from stromboli.traces.source import begins_with, first_line
from stromboli.traces.trace import Trace, TraceError

FORMATS = (swf.NAME, openb.NAME, columns.NAME, sacct.NAME, own.HISTORY, own.DUMP)
_READERS = {
    swf.NAME: swf.read_swf, sacct.NAME: sacct.read_sacct, own.HISTORY: own.read_history, own.DUMP: own.read_dumped,
}  # fmt: skip
_SQLITE = b"SQLite format 3\x00"


def open_trace(path: str, form: str = "", *, nodes: str = "", mapping: str = "") -> Trace:
    """Open a trace. `nodes` is a list of nodes, `mapping` declares the columns of a table. Raises TraceError."""
    form = form or (columns.NAME if mapping else format_of(path))
    if mapping and form != columns.NAME:
        raise TraceError(f"{path}: a mapping of columns has no effect on the format {form}; leave it out")
    trace = _read(path, form, nodes, mapping)
    if nodes and form != openb.NAME:
        trace.nodes = openb.read_nodes(nodes)
    return trace


def _read(path: str, form: str, nodes: str, mapping: str) -> Trace:
    if form == openb.NAME:
        return openb.read_openb(path, nodes)
    if form == columns.NAME:
        return columns.read_columns(path, mapping or _matching_mapping(path))
    return _READERS[form](path)


def _matching_mapping(path: str) -> str:
    if found := columns.matching_mapping(path):
        return found
    names = ", ".join(columns.mapping_names())
    raise TraceError(f"{path}: no mapping has these columns; name one with --columns: {names}, or a file")


def format_of(path: str) -> str:
    """Find the format. Raises TraceError if none fits."""
    if "://" in path or begins_with(path, _SQLITE):
        return own.HISTORY
    line = first_line(path)
    if path.removesuffix(".gz").endswith(".swf") or line.startswith(";") or len(line.split()) == swf.FIELDS:
        return swf.NAME
    if line.startswith("{"):
        return own.DUMP
    if set(openb.POD_COLUMNS) <= {text.strip() for text in line.split(",")}:
        return openb.NAME
    if sacct.is_sacct(line):
        return sacct.NAME
    if columns.matching_mapping(path):
        return columns.NAME
    if not line:
        raise TraceError(f"{path}: the file is empty; a trace has at least one job")
    shown = line.strip()[:60]
    raise TraceError(f"{path}: no format begins with {shown!r}; name it with --trace-format or --columns")
