"""`stromboli reserve-gpu`: what the pods run that hold GPUs for sharing."""

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
@click.option("--hold", is_flag=True, help="Do nothing until asked to stop: the GPU is held meanwhile.")
@click.option("--fake", is_flag=True, help="Make a GPU up, for clusters that have none.")
@click.option(
    "--to", type=click.Path(path_type=Path, dir_okay=False), default=_TERMINATION_LOG, show_default=True,
    help="The file that the name of the GPU is left in. Kubernetes shows the default one in the status of the pod.",
)  # fmt: skip
def reserve_gpu(hold: bool, fake: bool, to: Path) -> None:
    """Say which GPU this container was given, or hold it.

    The binder starts pods that do both, one for each GPU that pods share. People have no use for it.
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
    """Until somebody asks us to stop; then at once, as the GPU is wanted elsewhere."""
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    click.echo("holding")
    signal.sigwait(stops)
