"""What a Volcano Job, CronJob, JobFlow, JobTemplate or Command must satisfy: tables of pure rules.

Webhook, controllers and plans use the same tables.
"""
