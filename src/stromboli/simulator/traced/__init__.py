"""Traces in virtual time.

nodes       the nodes of a trace, of its header, or of numbers
layouts     how the processors of a job become pods
estimates   the run times that the scheduler sees
chance      start latencies and failures
jobs        a job between its submission and its end
objects     a job as a PodGroup and pods
simulation  the loop: submissions, starts, interruptions and ends, and a cycle at each moment with waiting jobs
"""
