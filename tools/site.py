"""Builds the documentation site into site/: `python tools/site.py`, which is `make docs`. Needs no network.

`zensical.toml` has the settings of the site. Two depend on the checkout and are added here: the version in the footer,
and in the header a link to the repository, if the remote `origin` has an http(s) address.

Diagrams are drawn in the browser by mermaid, which the theme loads from the network; without network the page shows the
source of the diagram.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from stromboli import __version__

ROOT = Path(__file__).parents[1]


def remote_of(root: Path) -> str:
    """Return the address of the remote `origin`; empty without one."""
    command = ["git", "-C", str(root), "remote", "get-url", "origin"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def repository_page(remote: str) -> str:
    """Return the page of a repository, without credentials; empty unless the remote is a web address."""
    address = urlsplit(remote)
    if address.scheme not in ("http", "https") or not address.hostname:
        return ""
    port = f":{address.port}" if address.port else ""
    return f"{address.scheme}://{address.hostname}{port}{address.path.removesuffix('.git')}"


def settings(text: str, version: str, page: str) -> str:
    """Add the settings that depend on the checkout to those of the site."""
    added = {"copyright": f"Stromboli {version} · Apache-2.0"}
    if page:
        added |= {"repo_url": page, "repo_name": urlsplit(page).path.strip("/") or page}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in added.items()]
    return text.replace("[project]\n", "[project]\n" + "".join(lines), 1)


def main() -> int:
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    built = ROOT / ".zensical.toml"  # paths are relative to the file, so it is beside the original
    built.write_text(settings(text, __version__, repository_page(remote_of(ROOT))), encoding="utf-8")
    try:
        zensical = Path(sys.executable).with_name("zensical")
        command = [str(zensical), "build", "--config-file", built.name, "--clean", "--strict"]
        return subprocess.run(command, check=False, cwd=ROOT).returncode
    finally:
        built.unlink()


if __name__ == "__main__":
    sys.exit(main())
