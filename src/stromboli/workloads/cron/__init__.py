"""Schedules of CronJobs, as their controllers read them."""
