"""The laboratory: simulated runs of traces measured, compared and drawn.

policy      a configuration that processes of other machines can load
running     one run of a trace under a policy
measures    figures of one run: over time, by queue, by node
comparison  runs of several policies and seeds, in parallel and resumable, with confidence intervals
pictures    charts of runs
report      a comparison as one page
tables      rows of jobs and figures as Arrow tables and Parquet files
perfetto    runs as a trace in Chrome's format
"""
