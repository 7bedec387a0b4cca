"""The results of simulations.

job_table  one row per job and per attempt to run it, as columns
run        a simulation that has run: its table, its cluster, and what else describes it
summary    waits, turnaround, slowdown and utilisation: in total, by queue, user and size
rows       the table as rows of text
"""
