"""The key `metrics` of a configuration: who is asked what nodes really use.

Volcano's documentation nests some of its keys and its program wants them flat (`tls.insecureSkipVerify`); both are
understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from stromboli.core.config.argument_values import read_arguments
from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.external_services import checked_url
from stromboli.core.config.yaml_lines import Node
from stromboli.core.model.values.durations import parse_duration

PROMETHEUS, ADAPTOR, METRICS_SERVER = "prometheus", "prometheus_adaptor", "metrics-server"
ELASTICSEARCH = "elasticsearch"
#: An older name in Volcano's documentation.
_OLD_ADAPTOR = "prometheus_adapt"
_TYPES = (PROMETHEUS, ADAPTOR, _OLD_ADAPTOR, METRICS_SERVER, ELASTICSEARCH)
#: Those that are reached by an address of their own, and not through the API server.
_WITH_ADDRESS = (PROMETHEUS, ELASTICSEARCH)


def _address(text: str) -> str:
    """An address in which a user and a password may stand, as many programs take it."""
    return checked_url(_without_user(text)[0])


def _without_user(text: str) -> tuple[str, str, str]:
    """The address, the user and the password in it."""
    scheme, separator, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not (separator and at):
        return text, "", ""
    name, _, password = user.partition(":")
    return f"{scheme}://{host}{slash}{path}", unquote(name), unquote(password)


DECLARED = (
    Argument("type", str, PROMETHEUS, "What kind of source it is.", choices=_TYPES),
    Argument("address", str, "", "Where it is.", form=_address),
    Argument("interval", str, "30s", "How often it is asked.", form=parse_duration),
    Argument("tls.insecureSkipVerify", bool, False, "Believe any server."),
    Argument("tls.caFile", str, "", "A file with the certificates of the authorities that are believed."),
    Argument("elasticsearch.index", str, "metricbeat-*", "The index to search."),
    Argument("elasticsearch.username", str, "", "The user to search as."),
    Argument("elasticsearch.password", str, "", "The password, for all who read this file."),
    Argument("elasticsearch.passwordFile", str, "", "A file that holds the password."),
    Argument("elasticsearch.hostnameFieldName", str, "host.hostname", "The field that holds the name of the node."),
)


@dataclass(frozen=True, slots=True)
class MetricsSource:
    """Who is asked, and how."""

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


def read_metrics(node: Node | None, findings: Findings) -> MetricsSource | None:
    """None where nobody is to be asked."""
    if node is None or node.value is None:
        return None
    if not isinstance(node.value, dict):
        findings.add(node.line, f"metrics must be a mapping, not {node.described}")
        return None
    given = read_arguments(Node(node.line, _flat(node.value)), DECLARED, "metrics", findings)
    _judge(given, node.line, findings)
    return _source(given)


def _flat(fields: Mapping[str, Node]) -> dict[str, Node]:
    """What is nested under `tls` or `elasticsearch`, by names with a dot."""
    flat: dict[str, Node] = {}
    for key, child in fields.items():
        if isinstance(child.value, dict):
            flat.update((f"{key}.{inner}", grandchild) for inner, grandchild in child.value.items())
        else:
            flat[key] = child
    return flat


def _judge(given: Arguments, line: int, findings: Findings) -> None:
    kind = given["type"]
    if kind in _WITH_ADDRESS and not given["address"]:
        findings.add(line, f"metrics: the key 'address' is missing; say where {kind} is")
    if given["tls.insecureSkipVerify"]:
        findings.warn(
            line, "metrics: any server is believed (tls.insecureSkipVerify); name its authority in tls.caFile"
        )
    if given["elasticsearch.password"] or _without_user(given["address"])[2]:
        findings.warn(line, "metrics: whoever reads this file knows the password; use elasticsearch.passwordFile")


def _source(given: Arguments) -> MetricsSource:
    address, username, password = _without_user(given["address"])
    return MetricsSource(
        type=ADAPTOR if given["type"] == _OLD_ADAPTOR else given["type"],
        address=address.rstrip("/"),
        interval=parse_duration(given["interval"]),
        insecure=given["tls.insecureSkipVerify"],
        authorities=given["tls.caFile"],
        index=given["elasticsearch.index"],
        username=given["elasticsearch.username"] or username,
        password=given["elasticsearch.password"] or password,
        password_file=given["elasticsearch.passwordFile"],
        hostname_field=given["elasticsearch.hostnameFieldName"],
    )
