"""Options of commands that list objects, as in kubectl: namespace, selector, watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.completion import complete_namespaces
from stromboli.cli.options.selectors import parse_selector
from stromboli.cli.options.settings import option_group

if TYPE_CHECKING:
    from stromboli.core.model.tasks.selectors import LabelSelector

_SELECTOR = "-l"


def _namespace_option(text: str) -> Callable[[Any], Any]:
    return click.option("-n", "--namespace", default="", metavar="NAME", shell_complete=complete_namespaces, help=text)


#: Of commands that show one job.
job_namespace_option = _namespace_option("The namespace of the job. Default: any, where the name is unique.")

namespace_options = option_group(
    _namespace_option("The namespace. Default: that of the kubeconfig context; with -f, all."),
    click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."),
)  # fmt: skip

selector_option = click.option(
    _SELECTOR, "--selector", default="", metavar="SELECTOR", help="Only those with matching labels, as in kubectl."
)

watch_option = click.option("-w", "--watch", is_flag=True, help="Keep running and print every change.")


@dataclass(frozen=True, slots=True)
class ListingScope:
    """The objects that a command lists."""

    #: One namespace; empty for all.
    namespace: str = ""
    selector: LabelSelector | None = None

    def includes(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.namespace and namespace != self.namespace:
            return False
        return self.selector is None or self.selector.matches(labels)

    @property
    def place(self) -> str:
        return f"in namespace {self.namespace}" if self.namespace else "in any namespace"


def selector_scope(selector: str) -> ListingScope:
    """Return the scope of kinds without a namespace."""
    return ListingScope(selector=parse_selector(selector, _SELECTOR) if selector else None)


def scope_of(options: Mapping[str, Any], default_namespace: str) -> ListingScope:
    """Return the scope of the options; the default namespace is empty for manifests."""
    if options["all_namespaces"] and options["namespace"]:
        raise click.UsageError("-n and -A exclude each other: name one namespace, or list all.")
    namespace = "" if options["all_namespaces"] else options["namespace"] or default_namespace
    return replace(selector_scope(options.get("selector", "")), namespace=namespace)
