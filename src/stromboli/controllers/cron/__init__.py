"""Volcano's CronJobs: Jobs that are created at the times of a schedule."""
