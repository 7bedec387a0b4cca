"""Jobs as pages of rows, and as a table of columns with changes."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument, HiddenCount
from stromboli.planner.overview.job_list import JobDocument


class ConsoleJob(JobDocument, kw_only=True):
    """A job, as `stromboli jobs -o json` shows it, with its owner."""

    #: The user by the owner label, and the kind of the workload.
    owner: str
    kind: str


class JobRowsPage(ConsoleDocument):
    """Rows of a list with filters, in the asked order."""

    instance: str
    version: int
    jobs: list[ConsoleJob]
    #: Rows that match, of which `jobs` are some.
    total: int
    offset: int
    hidden: HiddenCount


class JobColumns(ConsoleDocument):
    """Jobs by column: all lists have the same length. Columns of numbers refer to the lists of texts."""

    #: namespace/podGroup: identifies a row.
    keys: list[str]
    names: list[str]
    queues: list[int]
    phases: list[int]
    ready: list[int | None]
    minimum: list[int]
    priorities: list[int]
    #: Place among the waiting jobs of the queue, from 1; 0 for a job that does not wait.
    positions: list[int]
    reasons: list[int]
    owners: list[int]
    kinds: list[int]
    created: list[int]
    #: Expected start, earliest and latest: 0 if unknown.
    earliest: list[int]
    latest: list[int]
    #: Texts of the columns queues, phases, reasons, owners and kinds.
    texts: list[str]


class JobListing(ConsoleDocument):
    """All jobs that the person may read."""

    instance: str
    version: int
    columns: JobColumns
    hidden: HiddenCount


class JobListingChanges(ConsoleDocument):
    """Changes between two versions of the table."""

    instance: str
    #: The changes apply to this version, and lead to `version`.
    base: int
    version: int
    changed: JobColumns
    removed: list[str]
    hidden: HiddenCount
