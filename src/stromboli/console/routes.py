"""The routes of the API: one table for the server and for its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.console.documents import (
    decisions,
    events,
    history,
    job,
    jobs,
    nodes,
    overview,
    plans,
    queues,
    sessions,
    usage,
)

TEXT = "text/plain"
YAML = "application/yaml"
EVENTS = "text/event-stream"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One operation. `name` is its operationId."""

    name: str
    method: str
    path: str
    summary: str
    #: The type of the answer; of events, the types of their data.
    answer: Any
    body: Any = None
    media: str = JSON
    #: Parameters of the query, with their descriptions.
    query: Mapping[str, str] = field(default_factory=dict)
    #: Whether it is answered without a session.
    is_open: bool = False


_JOB = "/api/jobs/{namespace}/{podGroup}"
_SINCE = "Seconds since the epoch; without it all that is kept."
_JOB_QUERY = {
    "namespace": "Only jobs of this namespace.",
    "queue": "Only jobs of these queues, separated by commas.",
    "phase": "Only jobs in these phases, separated by commas.",
    "reason": "Only jobs whose reason contains this text.",
    "owner": "Only jobs of this owner.",
    "search": "Only jobs whose name, namespace, queue, owner or reason contains this text.",
    "waiting": "`true`: only jobs that have not started.",
    "sort": "A column: created, namespace, job, queue, phase, priority or position; with `-` before it, descending.",
    "offset": "Rows to leave out.",
    "limit": "Number of rows, 100 without it, at most 1,000.",
}
_HISTORY_QUERY = {
    "namespace": "Only jobs of this namespace.",
    "job": "Only jobs with this name.",
    "queue": "Only jobs of this queue.",
    "state": "Only jobs in these states, separated by commas.",
    "since": "Only jobs that waited or ran since then, in seconds since the epoch.",
    "limit": "The latest jobs: 200 without it, at most 2,000.",
}

ROUTES: Sequence[ApiRoute] = (
    ApiRoute("getSession", "GET", "/api/session", "The person of the session", sessions.SessionDocument),
    ApiRoute(
        "login", "POST", "/api/session", "Start a session", sessions.SessionDocument, sessions.LoginRequest,
        is_open=True,
    ),
    ApiRoute("logout", "DELETE", "/api/session", "End the session", None),
    ApiRoute("getOverview", "GET", "/api/overview", "The state of the cluster in numbers", overview.ConsoleOverview),
    ApiRoute(
        "getSeries", "GET", "/api/series", "Utilisation, waiting jobs and shares over time", overview.TimeSeries,
        query={"since": _SINCE},
    ),
    ApiRoute("getQueues", "GET", "/api/queues", "The tree of queues", queues.QueueListing),
    ApiRoute(
        "getQueueUsage", "GET", "/api/queue-usage", "What queues have used, and their budgets", usage.QueueUsages,
        query={"since": "The beginning, in seconds since the epoch: 30 days ago without it."},
    ),
    ApiRoute("listJobs", "GET", "/api/jobs", "Jobs as rows, with filters", jobs.JobRowsPage, query=_JOB_QUERY),
    ApiRoute("getJobTable", "GET", "/api/job-table", "All jobs by column", jobs.JobListing),
    ApiRoute("getJob", "GET", _JOB, "A job as it is reported", job.JobDetail),
    ApiRoute(
        "getJobYaml", "GET", f"{_JOB}/yaml", "The object of a job in the API server", None, media=YAML,
        query={"pod": "A pod of the job instead of its PodGroup."},
    ),
    ApiRoute("getJobHistory", "GET", f"{_JOB}/history", "Attempts and events of a job", job.JobAttempts),
    ApiRoute(
        "explainJob", "GET", f"{_JOB}/explanation", "Why a job waits, and what would help: calculated on demand",
        job.JobExplanation,
    ),
    ApiRoute(
        "scoreJob", "GET", f"{_JOB}/scores", "Scores of the nodes for a waiting job: calculated on demand",
        job.JobScores,
    ),
    ApiRoute("getNodes", "GET", "/api/nodes", "All nodes by column", nodes.NodeListing),
    ApiRoute("getNode", "GET", "/api/nodes/{node}", "A node with its pods", nodes.NodeDetail),
    ApiRoute(
        "getTopology", "GET", "/api/topology", "Network domains", nodes.TopologyView,
        query={"name": "A Topology; HyperNodes without it."},
    ),
    ApiRoute(
        "listCycles", "GET", "/api/cycles", "Recorded scheduling cycles, the latest first", decisions.CycleList,
        query={"before": "Only cycles before this number.", "limit": "Number of cycles: 50 without it, at most 200."},
    ),
    ApiRoute("getCycle", "GET", "/api/cycles/{number}", "The decisions of a cycle", decisions.CycleView),
    ApiRoute("listHistory", "GET", "/api/history", "Jobs of the past", history.HistoryRows, query=_HISTORY_QUERY),
    ApiRoute("getPolicy", "GET", "/api/policy", "The policy of the scheduler", plans.PolicyView),
    ApiRoute(
        "plan", "POST", "/api/plans", "Try objects or a policy on the present cluster: nothing is written",
        plans.PlanReport, plans.PlanRequest,
    ),
    ApiRoute(
        "diffPolicies", "POST", "/api/policy-diffs", "Compare two policies on the present cluster", plans.PolicyDiff,
        plans.PolicyDiffRequest,
    ),
    ApiRoute(
        "simulate", "POST", "/api/simulations", "Simulate the present cluster", plans.SimulationReport,
        plans.SimulationRequest,
    ),
    ApiRoute(
        "streamEvents", "GET", "/api/events", "New versions and changes of jobs, as server-sent events",
        (events.StreamHello, events.StreamVersion, events.StreamResync, jobs.JobListingChanges), media=EVENTS,
        query={"jobs": "The version of the table of jobs that the client has: its changes follow as events `jobs`."},
    ),
)  # fmt: skip
