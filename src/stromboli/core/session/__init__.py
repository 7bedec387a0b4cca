"""One scheduling cycle: session, statement, questions, job order, status."""
