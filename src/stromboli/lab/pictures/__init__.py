"""Pictures of runs, as Vega-Lite specifications for JSON.

Of several policies: `utilisation`, `waiting_jobs`, `wait_distribution`, `slowdown_by_size`, `fragmentation`.
Of one run: `queue_areas`, `queue_shares`, `node_gantt`, `job_gantt`, `node_map`, `fragmentation_map`.

drawing    what all pictures have in common
catalogue  the pictures of a report, by name
rendering  specifications as SVG and PNG
files      the pictures of a report in a folder
"""

from stromboli.lab.pictures.gantt import job_gantt, node_gantt
from stromboli.lab.pictures.heat_map import fragmentation_map, node_map
from stromboli.lab.pictures.over_time import fragmentation, utilisation, waiting_jobs
from stromboli.lab.pictures.queues import queue_areas, queue_shares
from stromboli.lab.pictures.slowdown import slowdown_by_size
from stromboli.lab.pictures.waits import wait_distribution

__all__ = [
    "fragmentation", "fragmentation_map", "job_gantt", "node_gantt", "node_map", "queue_areas", "queue_shares",
    "slowdown_by_size", "utilisation", "wait_distribution", "waiting_jobs",
]  # fmt: skip
