"""All recorded runs, for a usage ledger."""

from __future__ import annotations

from itertools import chain

import numpy as np

from stromboli.core.model.usage.ledger import OpenRun, UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.core.model.usage.sums import RunEvents
from stromboli.history.databases.database import Database
from stromboli.history.usage.requests import axis_amounts


def load_usage(database: Database) -> UsageLedger:
    """Return a ledger of all runs; those without an end go on. Raises HistoryError."""
    ledger, running = load_runs(database)
    for run in running:
        ledger.started(run.account, run.started)
    return ledger


def load_runs(database: Database) -> tuple[UsageLedger, list[OpenRun]]:
    """Return a ledger with the runs that have ended, and the others with the ledger's accounts. Raises HistoryError."""
    with database.snapshot():  # A run that ends meanwhile would be in neither.
        return _load(database)


def _load(database: Database) -> tuple[UsageLedger, list[OpenRun]]:
    ledger = UsageLedger()
    numbers = {
        row[0]: ledger.account(Account(row[1], row[2], row[3], axis_amounts(row[4])))
        for row in database.rows("SELECT id, queue, namespace, user_name, requests FROM accounts")
    }
    ended = "SELECT account, started, ended FROM pods WHERE ended > started AND account IS NOT NULL"
    ids = np.array(sorted(numbers), dtype=np.int64)
    number_of = np.array([numbers[account] for account in sorted(numbers)], dtype=np.int32)
    for rows in database.batches(ended):
        accounts, started, moments = np.fromiter(chain.from_iterable(rows), np.float64, 3 * len(rows)).reshape(-1, 3).T
        charged = number_of[np.searchsorted(ids, accounts.astype(np.int64))]
        ledger.enter(RunEvents(started, charged, np.ones(len(rows), np.int8)))
        ledger.enter(RunEvents(moments, charged, np.full(len(rows), -1, np.int8)))
    found = database.rows(
        "SELECT uid, account, started FROM pods WHERE ended IS NULL AND started IS NOT NULL AND account IS NOT NULL"
    )
    return ledger, [OpenRun(uid, numbers[account], started) for uid, account, started in found]
