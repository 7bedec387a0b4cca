"""A price list: a YAML file with a currency, and a price per unit and hour by resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.core.config.configuration_errors import Findings
    from stromboli.core.config.yaml_lines import YamlNode

_KEYS = ("currency", "prices")


@dataclass(frozen=True, slots=True)
class PriceList:
    currency: str
    #: Per unit and hour, by resource name. A unit of memory and storage is a gibibyte.
    prices: Mapping[str, Fraction]

    def cost_of(self, resource_seconds: Mapping[str, Fraction]) -> Fraction:
        """Return the price of an amount of usage. Resources without a price cost nothing."""
        return sum(
            (unit_hours(name, seconds) * self.prices.get(name, 0) for name, seconds in resource_seconds.items()),
            Fraction(0),
        )


def unit_hours(resource: str, seconds: Fraction) -> Fraction:
    """Return the hours of units of a resource: processors, gibibytes, devices."""
    from stromboli.core.model.resources.resources import unit_hour

    return seconds / unit_hour(resource)


class PriceFile(click.ParamType[PriceList]):
    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PriceList:
        if isinstance(value, PriceList):
            return value
        from stromboli.cli.policies import read_configuration_text
        from stromboli.core.config.configuration_errors import ConfigurationError, Findings
        from stromboli.core.config.yaml_lines import read_tree

        findings = Findings(str(value))
        try:
            found = _price_list(read_tree(read_configuration_text(str(value)), findings), findings)
            findings.raise_if_any()
        except ConfigurationError as error:
            raise Failure(error) from error
        return found


def _price_list(root: YamlNode, findings: Findings) -> PriceList:
    fields = root.value if isinstance(root.value, dict) else {}
    for key, node in fields.items():
        if key not in _KEYS:
            findings.add(node.line, f"unknown key {key!r}; a price list has currency and prices")
    prices = fields.get("prices")
    if prices is None or not isinstance(prices.value, dict):
        findings.add(root.line, "prices is missing; write a price per unit and hour by resource, such as cpu: 0.02")
        return PriceList("", {})
    currency = str(fields["currency"].plain()) if "currency" in fields else ""
    return PriceList(currency, {name: _price(name, node, findings) for name, node in prices.value.items()})


def _price(name: str, node: YamlNode, findings: Findings) -> Fraction:
    try:
        price = Fraction(str(node.plain()))
    except (ValueError, ZeroDivisionError):
        price = Fraction(-1)
    if price < 0:
        findings.add(node.line, f"prices.{name}: expected a price of 0 or more, got {node.plain()!r}")
    return price
