"""`stromboli reserve-gpu`: the command of the reservation pods for shared GPUs."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import click

from stromboli.cli.output import Failure

_EPILOG = """\b
Examples:
  stromboli reserve-gpu
  stromboli reserve-gpu --hold

\b
Exit codes:
  0  reported, or stopped by a signal
  1  invalid input: no or several GPUs, or the file cannot be written
  2  wrong usage
"""
_TERMINATION_LOG = Path("/dev/termination-log")
#: The driver's folder with one folder per visible GPU.
DRIVER = Path("/proc/driver/nvidia/gpus")
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_GPU_ID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]+", re.ASCII)
_GPU_UUID = re.compile(r"^GPU UUID:\s*(GPU-[0-9A-Za-z-]+)\s*$", re.ASCII | re.MULTILINE)


@click.command("reserve-gpu", epilog=_EPILOG)
@click.option("--hold", is_flag=True, help="Hold the GPU until stopped.")
@click.option("--fake", is_flag=True, help="Report a made-up GPU, for clusters without GPUs.")
@click.option(
    "--to", type=click.Path(path_type=Path, dir_okay=False), default=_TERMINATION_LOG, show_default=True,
    help="The file for the name of the GPU. The content of the default file appears in the pod status.",
)  # fmt: skip
def reserve_gpu(hold: bool, fake: bool, to: Path) -> None:
    """Report the GPU of this container, or hold it.

    The binder starts a reservation pod with both commands for each shared GPU. It is not intended for users.
    """
    if hold:
        _wait()
        return
    from stromboli.kube.manifests.errors import path_problem

    gpu = f"GPU-fake-{hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]}" if fake else _found()
    try:
        to.write_text(gpu)
    except OSError as error:
        raise Failure(path_problem(str(to), error)) from None
    click.echo(gpu)


class NotOneGpu(Exception):
    """None or several GPUs are visible."""


def _found() -> str:
    try:
        return visible_gpu(os.environ)
    except NotOneGpu as error:
        raise Failure(error) from None


def visible_gpu(environment: Mapping[str, str], driver: Path = DRIVER) -> str:
    """Return the only GPU of this container, from the device plugin's environment variable or from the driver's files.

    Raises NotOneGpu. Not tested on real hardware.
    """
    named = [word for word in environment.get(_VISIBLE, "").split(",") if _GPU_ID.fullmatch(word)]
    found = named or _gpus_from_driver(driver)
    if not found:
        raise NotOneGpu(f"no GPU is visible: {_VISIBLE} names none, and {driver} describes none")
    if len(found) > 1:
        raise NotOneGpu(f"expected one GPU, and {len(found)} are visible: {', '.join(found)}")
    return found[0]


def _gpus_from_driver(driver: Path) -> list[str]:
    texts = (path.read_text(errors="replace") for path in sorted(driver.glob("*/information")))
    return [gpu for text in texts for gpu in _GPU_UUID.findall(text)]


def _wait() -> None:
    """Wait for a stop signal, and exit at once to release the GPU."""
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    click.echo("holding")
    signal.sigwait(stops)
