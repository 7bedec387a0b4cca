"""Policies compared on one trace: a run per policy and seed.

experiment   the runs to do, each named by the content of all that decides it
execution    one run, in whatever process
folder       the finished runs on disk
local        processes of this machine
dask         workers of a Dask cluster
statistics   means, confidence intervals and paired differences over seeds
metrics      the compared figures
comparison   all figures of all policies
text         figures as text
rows         all figures of all runs as a table
verdict      the difference as a sentence
"""
