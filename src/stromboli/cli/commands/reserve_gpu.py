"""`stromboli reserve-gpu`: the command of the reservation pods for shared GPUs."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
from pathlib import Path

import click

_EPILOG = """\b
Examples:
  stromboli reserve-gpu
  stromboli reserve-gpu --hold
"""
_TERMINATION_LOG = Path("/dev/termination-log")


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
    gpu = f"GPU-fake-{hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]}" if fake else _found()
    try:
        to.write_text(gpu)
    except OSError as error:
        raise click.ClickException(f"{to} cannot be written: {error.strerror}") from None
    click.echo(gpu)


def _found() -> str:
    from stromboli.binding.reservations.visible_gpu import NotOneGpu, visible_gpu

    try:
        return visible_gpu(os.environ)
    except NotOneGpu as error:
        raise click.ClickException(str(error)) from None


def _wait() -> None:
    """Wait for a stop signal, and exit at once to release the GPU."""
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    click.echo("holding")
    signal.sigwait(stops)
