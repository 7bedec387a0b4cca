"""The policy of a command: its configuration file, and the plugins that it may name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.core.config.configuration import Configuration
    from stromboli.core.config.registry import Registry


def read_registry(plugins: Sequence[str]) -> Registry:
    from stromboli.core.config.registry import RegistrationError
    from stromboli.registry import built_in_registry

    try:
        return built_in_registry(plugins)
    except RegistrationError as error:
        raise Failure(error) from error


def read_configuration_text(file: str) -> str:
    """Read at most one byte more than a configuration may have.

    Bytes that are not UTF-8 are passed on: the parser rejects them with the line.
    """
    from stromboli.core.config.yaml_lines import MAXIMUM_BYTES
    from stromboli.kube.manifests.errors import path_problem

    try:
        with click.open_file(file, "rb") as stream:
            content: bytes = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise Failure(path_problem(file, error)) from error
    return content.decode("utf-8", "surrogateescape")


def read_configuration(conf: str | None, registry: Registry) -> Configuration:
    """Read the policy of `--conf`, by default the default configuration."""
    from stromboli.core.config.configuration import default_configuration

    if conf is None:
        return default_configuration(registry)
    return parse_policy(read_configuration_text(conf), registry, conf)


def parse_policy(text: str, registry: Registry, source: str) -> Configuration:
    """Parse a policy; errors end the command. `source` is its file, or - for the standard input."""
    from stromboli.core.config.configuration import ConfigurationError, parse_configuration

    try:
        return parse_configuration(text, registry, "standard input" if source == "-" else source)
    except ConfigurationError as error:
        raise Failure(error) from error
