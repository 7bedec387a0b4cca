"""Verify that the pages of the console are built from their present sources: part of `make check`.

`make web` builds them with Node and records two hashes here, so that the check needs no Node: that of the sources, with
the types of the API but not its descriptions, and that of the built files, which are never edited.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCES, BUILT = Path("web"), Path("src/stromboli/console/static")
API = Path("src/stromboli/console/openapi.json")
RECORD = SOURCES / "built.json"
REMEDY = "run `make web`, and commit what it writes"


def hashes(root: Path) -> dict[str, str]:
    """Return the hashes of sources and built files."""
    api = json.dumps(without_text(json.loads((root / API).read_text(encoding="utf-8"))), sort_keys=True)
    sources = [(path, (root / path).read_bytes()) for path in tracked(root, SOURCES) if path != RECORD]
    built = [(path, (root / path).read_bytes()) for path in tracked(root, BUILT)]
    return {"sources": digest([*sources, (API, api.encode())]), "built": digest(built)}


def tracked(root: Path, folder: Path) -> list[Path]:
    """Return the files of a folder that git does not ignore, in the order of their names."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", str(folder)],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    return [Path(name) for name in sorted(set(listed)) if (root / name).is_file()]


def without_text(value: Any) -> Any:
    """Leave out descriptions, which change no type."""
    if isinstance(value, dict):
        return {
            key: without_text(entry)
            for key, entry in value.items()
            if not (key in ("description", "summary") and isinstance(entry, str))
        }
    return [without_text(entry) for entry in value] if isinstance(value, list) else value


def digest(files: Iterable[tuple[Path, bytes]]) -> str:
    found = hashlib.sha256()
    for path, content in files:
        found.update(f"{path.as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def violations(root: Path) -> list[str]:
    """Return what is not current, with the remedy."""
    record = root / RECORD
    recorded = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    texts = {
        "sources": f"{SOURCES}/ or the types of {API} have changed since the console was built: {REMEDY}",
        "built": f"{BUILT}/ is not what was built: {REMEDY}",
    }
    return [texts[name] for name, found in hashes(root).items() if recorded.get(name) != found]


def main() -> int:
    """Print what is not current, or record the present state with `--record`."""
    if sys.argv[1:] == ["--record"]:
        (ROOT / RECORD).write_text(json.dumps(hashes(ROOT), indent=1) + "\n", encoding="utf-8")
        return 0
    found = violations(ROOT)
    print("\n".join(found) or "console pages: current")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
