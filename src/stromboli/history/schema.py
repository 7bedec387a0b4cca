"""The tables, and the migrations to the present version.

A migration is a list of statements that both databases run, in one transaction with the new version. Published
migrations are never edited; a change is a further one.
"""

from __future__ import annotations

from stromboli.history.databases.database import Database, HistoryError

_FIRST = (
    """CREATE TABLE jobs (
        uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL, queue TEXT NOT NULL,
        scheduler TEXT NOT NULL, owner_kind TEXT NOT NULL, owner_name TEXT NOT NULL, user_name TEXT NOT NULL,
        min_member BIGINT NOT NULL, priority_class TEXT NOT NULL, created DOUBLE PRECISION NOT NULL,
        deleted DOUBLE PRECISION, state TEXT NOT NULL DEFAULT 'Pending', template TEXT,
        started DOUBLE PRECISION, ended DOUBLE PRECISION, pods BIGINT NOT NULL DEFAULT 0,
        starts BIGINT NOT NULL DEFAULT 0, running BIGINT NOT NULL DEFAULT 0, evictions BIGINT NOT NULL DEFAULT 0,
        failures BIGINT NOT NULL DEFAULT 0)""",
    """CREATE TABLE pods (
        uid TEXT PRIMARY KEY, job TEXT NOT NULL, name TEXT NOT NULL, node TEXT, template TEXT, requests TEXT,
        created DOUBLE PRECISION, started DOUBLE PRECISION, ended DOUBLE PRECISION, outcome TEXT, cause TEXT,
        evicted DOUBLE PRECISION, reason TEXT, preemptor TEXT)""",
    "CREATE INDEX pods_job ON pods (job)",
    "CREATE INDEX jobs_name ON jobs (namespace, name)",
    "CREATE INDEX jobs_ended ON jobs (ended)",
    "CREATE INDEX jobs_created ON jobs (created)",
)
#: Runs of pods are charged to accounts: see `charges`.
_ACCOUNTS = (
    """CREATE TABLE accounts (
        id BIGINT PRIMARY KEY, namespace TEXT NOT NULL, queue TEXT NOT NULL, user_name TEXT NOT NULL,
        requests TEXT NOT NULL, UNIQUE (namespace, queue, user_name, requests))""",
    "ALTER TABLE pods ADD COLUMN account BIGINT",
    """INSERT INTO accounts (id, namespace, queue, user_name, requests)
        SELECT row_number() OVER (), namespace, queue, user_name, requests FROM (
            SELECT DISTINCT j.namespace, j.queue, j.user_name, COALESCE(p.requests, '{}') AS requests
            FROM pods AS p JOIN jobs AS j ON p.job = j.uid WHERE p.started IS NOT NULL) AS found""",
    """UPDATE pods SET account = a.id FROM accounts AS a, jobs AS j
        WHERE j.uid = pods.job AND pods.started IS NOT NULL AND a.namespace = j.namespace AND a.queue = j.queue
        AND a.user_name = j.user_name AND a.requests = COALESCE(pods.requests, '{}')""",
    "CREATE INDEX pods_usage ON pods (ended, started, account)",
)
_SUSPENDED = ("ALTER TABLE jobs ADD COLUMN suspended DOUBLE PRECISION",)
#: Announced thresholds of budgets, until the end of their period.
_THRESHOLDS = (
    """CREATE TABLE budget_thresholds (
        queue TEXT NOT NULL, scope TEXT NOT NULL, subject TEXT NOT NULL, period TEXT NOT NULL,
        since DOUBLE PRECISION NOT NULL, threshold BIGINT NOT NULL, ends DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (queue, scope, subject, period, since, threshold))""",
)
MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _ACCOUNTS, _SUSPENDED, _THRESHOLDS)
VERSION = len(MIGRATIONS)


def version_of(database: Database) -> int:
    """Return the version of the tables; 0 if there are none."""
    if not database.has_table("history_version"):
        return 0
    found = database.rows("SELECT version FROM history_version")
    return int(found[0][0]) if found else 0


def check_version(database: Database) -> None:
    """Raise HistoryError if these tables cannot be read: they are missing, or those of another version."""
    found = version_of(database)
    if found != VERSION:
        remedy = "a scheduler of this version creates and migrates them" if found < VERSION else "use that version"
        what = f"tables of version {found}" if found else "no tables of a history"
        raise HistoryError(f"{database.name} has {what}, version {VERSION} is needed; {remedy}")


def migrate(database: Database) -> None:
    """Bring the tables to the present version. Raises HistoryError if they are of a newer one."""
    with database.transaction():
        database.lock()
        found = version_of(database)
        if found > VERSION:
            raise HistoryError(
                f"{database.name} has tables of version {found}, newer than {VERSION}; upgrade this scheduler"
            )
        if not found:
            database.execute("CREATE TABLE history_version (version BIGINT NOT NULL)")
            database.execute("INSERT INTO history_version (version) VALUES (0)")
        for migration in MIGRATIONS[found:]:
            for statement in migration:
                database.execute(statement)
        if found < VERSION:
            database.execute("UPDATE history_version SET version = ?", VERSION)
