"""The account of each run: the queue and user of its job when it was recorded first, its namespace and its requests.

A run keeps its account, so that a job which moves to another queue is charged there for later runs only. Accounts are
added in the transaction that records the start, and a run is one row of `pods`: it cannot count twice.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from stromboli.history.databases.database import Database

_UNCHARGED = "pods.account IS NULL AND pods.started IS NOT NULL AND pods.job IN {jobs}"
_SAME = (
    "a.namespace = j.namespace AND a.queue = j.queue AND a.user_name = j.user_name "
    "AND a.requests = COALESCE(pods.requests, '{}')"
)


def charge(database: Database, jobs: Collection[str]) -> None:
    """Charge the runs of jobs, by uid, that have started and have no account yet."""
    parameter = msgspec.json.encode([(uid,) for uid in jobs]).decode()
    chosen = f"(SELECT uid FROM {database.elements((('uid', 'TEXT'),))} AS src)"  # noqa: S608
    uncharged = _UNCHARGED.format(jobs=chosen)
    missing = (
        "SELECT DISTINCT j.namespace, j.queue, j.user_name, COALESCE(pods.requests, '{}') AS requests "  # noqa: S608
        f"FROM pods JOIN jobs AS j ON pods.job = j.uid WHERE {uncharged} "
        f"AND NOT EXISTS (SELECT 1 FROM accounts AS a WHERE {_SAME})"
    )
    if database.rows(f"{missing} LIMIT 1", parameter):
        database.lock()
        database.execute(
            "INSERT INTO accounts (id, namespace, queue, user_name, requests) "  # noqa: S608
            "SELECT (SELECT COALESCE(max(id), 0) FROM accounts) + row_number() OVER (), namespace, queue, user_name, "
            f"requests FROM ({missing}) AS found",
            parameter,
        )
    database.execute(
        f"UPDATE pods SET account = a.id FROM accounts AS a, jobs AS j WHERE j.uid = pods.job AND {_SAME} AND {uncharged}",  # noqa: E501, S608
        parameter,
    )
