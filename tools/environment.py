"""Install a set of locked requirements into `.venv`: `python3 tools/environment.py runtime|dev|kubectl`.

It runs before anything is installed, so it imports the standard library only. An environment whose installation was
interrupted may contain half a package that pip takes for installed; it is created again.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ENVIRONMENT = Path(".venv")
INSTALLING = ENVIRONMENT / ".installing"
"""Exists while packages are being installed."""

SETS = {
    "runtime": ("run-time dependencies", ["runtime.lock", "build.lock"]),
    "dev": ("tools for tests, checks, docs and benchmarks", ["dev.lock"]),
    "kubectl": ("kubectl", ["kubectl.lock"]),
}
"""What a set is, and its lock files."""

_FETCHED = re.compile(r" *(?:Downloading|Using cached|Processing) (?:\S*/)?([\w.]+)-([^-\s]+)-\S+\.whl(?: \((.+)\))?$")
_UNPACKED = re.compile(r"Installing collected packages: (.+)")


def progress(line: str) -> str:
    """Return what a line of pip's output means for the person who waits; empty for a line without news."""
    if fetched := _FETCHED.match(line):
        name, version, size = fetched.groups()
        return f"  {name.replace('_', '-')} {version}" + (f" ({size})" if size else "")
    if unpacked := _UNPACKED.match(line):
        names = unpacked[1].split(",")
        return f"  unpacking {names[0] if len(names) == 1 else f'{len(names)} packages'}"
    return ""


def python() -> str:
    return str(ENVIRONMENT / "bin" / "python")


def is_usable() -> bool:
    """Return whether the environment has a working pip and no interrupted installation."""
    if INSTALLING.exists() or not Path(python()).exists():
        return False
    return subprocess.run([python(), "-m", "pip", "--version"], capture_output=True).returncode == 0


def pip(*arguments: str) -> None:
    """Install, with a line per package; pip's errors go to stderr unchanged."""
    command = [python(), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        report(process.stdout or [])
    if process.returncode:
        raise SystemExit(process.returncode)


def report(lines: Iterable[str]) -> None:
    for line in lines:
        if text := progress(line):
            print(text, flush=True)


def create() -> None:
    print(f"Creating {ENVIRONMENT} with Python {sys.version.split()[0]}", flush=True)
    if status := subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)]).returncode:
        raise SystemExit(status)


def install(name: str) -> None:
    """Install a set, after the run-time dependencies if the environment is new, and write its stamp."""
    if not is_usable():
        create()
        if name != "runtime":
            install("runtime")
    title, locks = SETS[name]
    print(f"Installing {title}: {', '.join(f'requirements/{lock}' for lock in locks)}", flush=True)
    INSTALLING.touch()
    pip("--require-hashes", *(argument for lock in locks for argument in ("-r", f"requirements/{lock}")))
    if name == "runtime":
        pip("--no-deps", "--no-build-isolation", "-e", ".")
    INSTALLING.unlink()
    (ENVIRONMENT / f".{name}").touch()


def main(name: str) -> None:
    started = time.monotonic()
    try:
        install(name)
    except KeyboardInterrupt:
        raise SystemExit("interrupted: the next make creates .venv again") from None
    print(f"Installed in {time.monotonic() - started:.0f} s; `. .venv/bin/activate` puts the commands on the PATH")


if __name__ == "__main__":
    main(*sys.argv[1:])
