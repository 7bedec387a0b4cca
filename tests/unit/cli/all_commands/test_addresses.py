"""Invalid listen addresses, and paths of them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stromboli.cli import main

OPTIONS = [
    ("scheduler", "--listen-address"),
    ("scheduler", "--healthz-address"),
    ("controller", "--healthz-address"),
    ("binder", "--listen-address"),
    ("binder", "--healthz-address"),
    ("admission", "--webhook-address"),
    ("console", "--console-address"),
]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
@pytest.mark.parametrize("by_environment", [False, True], ids=["by option", "by environment"])
def test_invalid_listen_address_is_rejected(command: str, option: str, by_environment: bool) -> None:
    variable = f"STROMBOLI_{option.removeprefix('--').replace('-', '_').upper()}"
    arguments, environment = ([], {variable: "here"}) if by_environment else ([f"{option}=here"], {})
    result = CliRunner().invoke(main, [command, *arguments], env=environment)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.output
    assert "'here' is not an address to listen on; write one like :8080 or 127.0.0.1:8080" in result.output


@pytest.mark.parametrize("command", ["scheduler", "binder", "admission"])
@pytest.mark.parametrize("paths", ["metrics", "/healthz,metrics", "/*/metrics"])
def test_invalid_open_path_is_rejected(command: str, paths: str) -> None:
    result = CliRunner().invoke(main, [command, f"--authorization-always-allow-paths={paths}"])
    assert result.exit_code == 2
    assert "is not a path such as /metrics" in result.output
