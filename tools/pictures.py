"""Draw the pictures of the documentation.

One is a frame of a real run of `stromboli demo`, on a terminal of 80 columns and 24 lines, the other compares policies
on the example trace. They use no fonts from the network, and have backgrounds of their own, so that they read on light
and dark pages.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Sequence
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, Group
from rich.terminal_theme import TerminalTheme

from stromboli.cli.commands.trial.demo import EXAMPLE, TITLE, demo_policy, play
from stromboli.cli.examples import examples_folder
from stromboli.cli.stages import read_stages
from stromboli.cli.text.live.display import LiveView
from stromboli.cli.text.live.screen import View, rendered
from stromboli.lab.pictures import wait_distribution
from stromboli.lab.pictures.rendering import svg_of
from stromboli.lab.policy import PolicySource
from stromboli.lab.running import simulate
from stromboli.local.up.local_cluster import local_cluster
from stromboli.registry import built_in_registry
from stromboli.simulator.traced.layouts import POOL
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.traces.opening import open_trace

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "demo.svg"
WAITS = PICTURE.with_name("waits.svg")
TRACE, POLICIES = "lublin.swf", ("fcfs", "easy")
#: The stage with borrowed capacity, a preemption, and the reason of the job that can never start.
STAGE = 4
_WIDTH, _HEIGHT = 80, 24
_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

_BLACK, _RED, _GREEN, _YELLOW = (27, 31, 42), (255, 123, 114), (126, 211, 133), (240, 198, 116)
_BLUE, _MAGENTA, _CYAN, _WHITE = (121, 162, 247), (215, 153, 255), (94, 206, 232), (214, 219, 229)
_COLOURS = [_BLACK, _RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN, _WHITE]
THEME = TerminalTheme(_BLACK, _WHITE, _COLOURS)


async def last_frame(stage: int) -> View:
    """Run the demo until a stage is over, and return the last frame of the stage."""
    stages = read_stages([str(examples_folder() / EXAMPLE)])
    seconds = stages[stage + 1].at - 0.1
    async with local_cluster(demo_policy()) as running:
        view = LiveView(running.scheduler, TITLE, "Ctrl-C stops.")
        await running.run_until(asyncio.Event(), seconds, play(running, view, stages))
        return view.take()


def drawn(view: View, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    """Return the SVG of a frame."""
    console = Console(
        width=width, height=height, record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Group(*rendered(view, width, height)))
    text_only = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    svg = console.export_svg(title="", theme=THEME, code_format=text_only.replace("Fira Code, monospace", _FONTS))
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def waits(trace: str = TRACE, policies: Sequence[str] = POLICIES) -> str:
    """Return the SVG of how long jobs wait under some policies, in one pool of processors."""
    folder, runs = examples_folder(), []
    for name in policies:
        policy = PolicySource(name, (folder / "policies" / f"{name}.conf").read_text(), built_in_registry)
        opened = open_trace(str(folder / "traces" / trace))
        runs.append(simulate(opened, policy.program(), ReplayOptions(layout=POOL), policy=name))
    return svg_of(wait_distribution(runs)) + "\n"


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(asyncio.run(last_frame(STAGE))), encoding="utf-8")
    WAITS.write_text(waits(), encoding="utf-8")
    print(PICTURE, WAITS)
