"""Nodes and queues side by side: what is allocated, deserved and borrowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from stromboli.cli.text.live.bars import LEAVING, MARK, NO_QUEUE, Look, Scale, node_bar, queue_bar
from stromboli.cli.text.live.frame import Frame, NodeRow, QueueRow
from stromboli.cli.text.live.rows import amount, first_rows, fit, unit, with_rest

#: Columns between nodes and queues, and those of the longest and the shortest bar.
_GAP, _MAX_BAR, _MIN_BAR = 4, 48, 4
_MAX_NAME = 16


def usage_lines(frame: Frame, rows: int, width: int, looks: Mapping[str, Look]) -> list[Text]:
    """Return nodes and queues side by side; both bars have the columns that names and amounts leave."""
    nodes, queues = first_rows(frame.nodes, rows), first_rows(frame.queues, rows)
    names = (
        _longest((node.name for node in nodes), 4, _MAX_NAME),
        _longest((each.name for each in queues), 5, _MAX_NAME),
    )
    full = [replace(queue, allocated=frame.capacity) for queue in queues]  # so that bars keep their length
    texts = _longest(map(_usage, nodes)), _longest(map(_share, (*queues, *full)))
    others = sum(names) + sum(texts) + _GAP + 11  # blanks and margins, the glyph of a queue, the mark
    available = max(width - others, 2 * _MIN_BAR)
    node_scale = Scale.of(max((node.capacity for node in frame.nodes), default=0), min(available // 2, _MAX_BAR))
    queue_scale = Scale.of(frame.capacity, min(available - node_scale.columns, _MAX_BAR))
    left = with_rest(_node_lines(frame, nodes, names[0], node_scale, looks), len(frame.nodes), rows)
    right = with_rest(_queue_lines(frame, queues, names[1], queue_scale, looks), len(frame.queues), rows)
    return _side_by_side(left, right)


def _node_lines(
    frame: Frame, nodes: Sequence[NodeRow], names: int, scale: Scale, looks: Mapping[str, Look]
) -> list[Text]:
    lines = [Text(f" {'NODE':<{names}}  {unit(frame.resource)}", style="bold")]
    for node in nodes:
        parts = [(looks.get(queue, NO_QUEUE), part) for queue, part in sorted(node.used.items())]
        bar = node_bar([*parts, (LEAVING, node.leaving)], node.capacity, scale)
        lines.append(Text.assemble(f" {fit(node.name, names)}  ", bar, f" {_usage(node)}"))
    return lines


def _queue_lines(
    frame: Frame, queues: Sequence[QueueRow], names: int, scale: Scale, looks: Mapping[str, Look]
) -> list[Text]:
    lines = [Text(f"{'QUEUE':<{names + 2}}  {unit(frame.resource)} allocated{MARK}deserved", style="bold")]
    for queue in queues:
        glyph, colour = looks[queue.name]
        bar = queue_bar((glyph, colour), queue.allocated, queue.deserved, scale)
        lines.append(Text.assemble((f"{glyph} {fit(queue.name, names)}", colour), "  ", bar, f" {_share(queue)}"))
    return lines


def _longest(texts: Iterable[str], least: int = 0, most: int = 100) -> int:
    return min(max([least, *map(cell_len, texts)]), most)


def _usage(node: NodeRow) -> str:
    return f"{amount(sum(node.used.values()))}/{amount(node.capacity)}"


def _share(queue: QueueRow) -> str:
    """`12/8, 4 borrowed`."""
    if queue.deserved is None:
        return amount(queue.allocated)
    borrowed = queue.allocated - queue.deserved
    more = f", {amount(borrowed)} borrowed" if borrowed > 0 else ""
    return f"{amount(queue.allocated)}/{amount(queue.deserved)}{more}"


def _side_by_side(left: Sequence[Text], right: Sequence[Text]) -> list[Text]:
    width = max(line.cell_len for line in left) + _GAP
    lines = []
    for one, other in zip(left, right, strict=True):
        line = one.copy()
        line.pad_right(width - line.cell_len)
        lines.append(line.append_text(other))
    return lines
