"""The history of a cluster: what happened to which job, when and why.

    records      what a scheduler reports about jobs and pods: plain values
    schema       tables and their migrations
    statements   the SQL that both databases run
    databases/   SQLite and PostgreSQL
    writer       the thread that writes records, off the scheduling path
    query        rows for `stromboli history` and for endpoints
    usage/       what queues, users, namespaces and jobs have used
    run_times    run times of earlier completions

Records are idempotent: each column keeps the first value that was reported, and everything else is calculated from
them. Writing a record twice, or in another order, has the same result, so a restart counts nothing twice.
"""
