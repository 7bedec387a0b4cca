"""The page of the public API is generated from the source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_reference_page_is_generated_from_the_present_source() -> None:
    tool = ROOT / "tools" / "api_reference.py"
    printed = subprocess.run([sys.executable, str(tool)], check=True, capture_output=True, text=True).stdout
    stored = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert printed == stored, f"the page is stale; run {tool.relative_to(ROOT)} --write"
