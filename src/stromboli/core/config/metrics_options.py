"""The key `metrics` of a configuration: the source of node usage metrics.

Volcano's documentation nests some keys and its code expects them flat (`tls.insecureSkipVerify`); both are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from stromboli.core.config.argument_values import read_arguments
from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.external_services import checked_url
from stromboli.core.config.yaml_lines import YamlNode
from stromboli.core.model.resources.resources import is_schedulable_name
from stromboli.core.model.values.times import parse_duration

PROMETHEUS, ADAPTOR, METRICS_SERVER = "prometheus", "prometheus_adaptor", "metrics-server"
ELASTICSEARCH = "elasticsearch"
#: An older name in Volcano's documentation.
_OLD_ADAPTOR = "prometheus_adapt"
_TYPES = (PROMETHEUS, ADAPTOR, _OLD_ADAPTOR, METRICS_SERVER, ELASTICSEARCH)
#: Sources with an address of their own; others are reached through the API server.
_WITH_ADDRESS = (PROMETHEUS, ELASTICSEARCH)


def _address(text: str) -> tuple[str, str, str]:
    """Return an address without the user and the password that it may contain, and these."""
    scheme, separator, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not (separator and at):
        return checked_url(text) if text else "", "", ""
    name, _, password = user.partition(":")
    return checked_url(f"{scheme}://{host}{slash}{path}"), unquote(name), unquote(password)


class MetricsArguments(Arguments):
    type: str = Argument("type", PROMETHEUS, "The kind of source.", choices=_TYPES)
    #: The URL with its user and password.
    address: tuple[str, str, str] = Argument("address", "", "The address of the source.", parse=_address)
    interval: float = Argument("interval", "30s", "The period between two queries.", parse=parse_duration)
    insecure: bool = Argument("tls.insecureSkipVerify", False, "Do not verify the server's certificate.")
    ca_file: str = Argument("tls.caFile", "", "A file with the trusted certificate authorities.")
    past_usage: Mapping[str, str] = PrefixArgument(
        "pastUsage.<resource>", "", "A query of Prometheus for what queues and users held, as their past usage."
    )
    past_usage_period: float = Argument(
        "pastUsagePeriod", "720h", "How far back past usage is queried.", parse=parse_duration
    )
    index: str = Argument("elasticsearch.index", "metricbeat-*", "The index to search.")
    username: str = Argument("elasticsearch.username", "", "The user of the search.")
    password: str = Argument("elasticsearch.password", "", "The password; readers of this file can see it.")
    password_file: str = Argument("elasticsearch.passwordFile", "", "A file with the password.")
    hostname_field: str = Argument("elasticsearch.hostnameFieldName", "host.hostname", "The field of the node name.")


@dataclass(frozen=True, slots=True)
class MetricsSource:
    """The source of node usage metrics."""

    type: str
    address: str
    #: In seconds.
    interval: float
    insecure: bool
    authorities: str
    index: str
    username: str
    password: str
    password_file: str
    hostname_field: str
    #: Queries of past usage by resource; empty where it is that of the history.
    past_usage: Mapping[str, str] = field(default_factory=dict)
    #: In seconds.
    past_usage_period: float = 0.0


def read_metrics(node: YamlNode | None, findings: Findings) -> MetricsSource | None:
    """Return the source; None if none is configured."""
    if node is None or node.value is None:
        return None
    if not isinstance(node.value, dict):
        findings.add(node.line, f"metrics must be a mapping, not {node.described}")
        return None
    arguments = read_arguments(YamlNode(node.line, _flat(node.value)), MetricsArguments, "metrics", findings)
    _check(arguments, node.line, findings)
    return _source(arguments)


def _flat(fields: Mapping[str, YamlNode]) -> dict[str, YamlNode]:
    """Return keys nested under `tls` or `elasticsearch` by their names with a dot."""
    flat: dict[str, YamlNode] = {}
    for key, child in fields.items():
        if isinstance(child.value, dict):
            flat.update((f"{key}.{inner}", grandchild) for inner, grandchild in child.value.items())
        else:
            flat[key] = child
    return flat


def _check(arguments: MetricsArguments, line: int, findings: Findings) -> None:
    address, _, password = arguments.address
    if arguments.type in _WITH_ADDRESS and not address:
        findings.add(line, f"metrics: the key 'address' is missing; set the address of {arguments.type}")
    _check_past_usage(arguments, line, findings)
    if arguments.insecure:
        findings.warn(line, "metrics: the server is not verified (tls.insecureSkipVerify); set tls.caFile")
    if arguments.password or password:
        findings.warn(line, "metrics: the password is readable in this file; use elasticsearch.passwordFile")


def _check_past_usage(arguments: MetricsArguments, line: int, findings: Findings) -> None:
    queries = arguments.past_usage
    if queries and arguments.type != PROMETHEUS:
        findings.add(line, f"metrics: pastUsage is read from prometheus alone, not from {arguments.type}; leave it out")
    if not queries and arguments.past_usage_period != MetricsArguments().past_usage_period:
        findings.warn(line, "metrics: pastUsagePeriod has no effect without pastUsage")
    for name, query in queries.items():
        if not query.strip():
            findings.add(line, f"metrics: pastUsage.{name} is empty; write a query of Prometheus")
        if not is_schedulable_name(name):
            findings.warn(line, f"metrics: pastUsage.{name} has no effect: nodes name resources as nvidia.com/gpu")


def _source(arguments: MetricsArguments) -> MetricsSource:
    address, username, password = arguments.address
    return MetricsSource(
        type=ADAPTOR if arguments.type == _OLD_ADAPTOR else arguments.type,
        address=address,
        interval=arguments.interval,
        insecure=arguments.insecure,
        authorities=arguments.ca_file,
        index=arguments.index,
        username=arguments.username or username,
        password=arguments.password or password,
        password_file=arguments.password_file,
        hostname_field=arguments.hostname_field,
        past_usage=arguments.past_usage,
        past_usage_period=arguments.past_usage_period,
    )
