"""Traces: jobs of real or generated clusters, with their arrivals, sizes and run times.

trace        one job, one node, and a trace as a stream of jobs
rejects      rows that cannot be used: counted by rule, the first ones with file and line
source       a file as numbered lines, also compressed
opening      the format of a file, by its name and content
formats      one module per format, and mappings of columns for tables
generators   synthetic workloads
statistics   the summary of a trace
"""
