"""Figures as tables of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from stromboli.lab.comparison.comparison import Comparison, PairedDifference
from stromboli.lab.comparison.metrics import GROUP_METRICS, METRICS
from stromboli.lab.comparison.text import figure_text
from stromboli.lab.comparison.verdict import percent_text

_MAX_GROUPS = 50
#: Smaller relative differences would read as none.
_LEAST = 0.0005


def policy_table(comparison: Comparison) -> str:
    """Return all figures of all policies: a row per figure, with the differences to the first policy."""
    policies = comparison.policies
    estimates = {name: comparison.estimates(name) for name in policies}
    differences = {name: comparison.differences(name) for name in policies[1:]}
    rows = []
    for metric in METRICS:
        if any(metric.key in row for row in estimates.values()):
            cells = [_cell(figure_text(metric.key, estimates[policies[0]].get(metric.key)))]
            for name in policies[1:]:
                text = figure_text(metric.key, estimates[name].get(metric.key))
                cells.append(_cell(text, differences[name].get(metric.key)))
            rows.append(f"<tr><th scope=row>{escape(metric.title)}</th>{''.join(cells)}</tr>")
    return _table(("", *policies), rows)


def group_table(comparison: Comparison, kind: str, title: str) -> str:
    """Return the figures of each queue or class of sizes: a row per policy."""
    metrics = [metric for metric in GROUP_METRICS if metric.better]
    rows, names = [], comparison.groups(kind)
    for name in names[:_MAX_GROUPS]:
        for number, policy in enumerate(comparison.policies):
            found = comparison.group_estimates(policy, kind, name)
            head = f"<th scope=rowgroup rowspan={len(comparison.policies)}>{escape(name)}</th>" if not number else ""
            cells = (_cell(figure_text(metric.key, found.get(metric.key))) for metric in metrics)
            count = _cell(figure_text("jobs", found.get("jobs")))
            rows.append(f"<tr>{head}<th scope=row>{escape(policy)}</th>{count}{''.join(cells)}</tr>")
    more = f"<p>{len(names) - _MAX_GROUPS} more are in the output of -o json.</p>" if len(names) > _MAX_GROUPS else ""
    return _table((title, "policy", "jobs", *(metric.title for metric in metrics)), rows) + more


def _table(titles: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th scope=col>{escape(title)}</th>" for title in titles)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _cell(text: str, difference: PairedDifference | None = None) -> str:
    return f"<td>{escape(text)}{''.join(_difference(difference))}</td>"


def _difference(difference: PairedDifference | None) -> Iterator[str]:
    if difference is not None and difference.relative is not None and abs(difference.relative.mean) >= _LEAST:
        kind = "better" if difference.is_better else "worse" if difference.is_worse else "unclear"
        yield f"<small class={kind}>{escape(percent_text(difference.relative, signed=True))}</small>"
