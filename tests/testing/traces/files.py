"""Small traces of every format, as archives publish them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

SWF_HEADER = ("; Version: 2.2", "; Computer: Test", "; UnixStartTime: 1000000", "; MaxNodes: 4", "; MaxProcs: 8",
              "; Queue: 1 batch", "; Queue: 2 short")  # fmt: skip
OPENB_PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model"
SACCT = "JobID|User|Account|Partition|State|Submit|Start|End|Timelimit|NNodes|NCPUS|ReqMem|AllocTRES"
PHILLY = "jobid,user,vc,status,submitted_time,start_time,end_time,gpus"


def swf(
    number: int, submitted: float, run_time: float, processors: int = 1, *, requested: float = -1, wait: float = -1,
    status: int = 1, user: int = -1, queue: int = -1, memory: int = -1,
) -> str:  # fmt: skip
    """Return a line of the Standard Workload Format."""
    fields = (number, submitted, wait, run_time, processors, -1, -1, processors, requested, memory, status, user, -1,
              -1, queue, -1, -1, -1)  # fmt: skip
    return " ".join(f"{field:g}" for field in fields)


def write(path: Path, lines: Sequence[str], *, end: str = "\n", compressed: bool = False) -> str:
    """Write a file and return its path."""
    data = "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(data) if compressed else data)
    return str(path)
