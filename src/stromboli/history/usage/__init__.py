"""Usage: runs of pods are charged to accounts, and summed up exactly.

charges  the account of each run
reports  resource-seconds of a period, by queue, user, namespace or job
runs     all runs, for a usage ledger
"""
