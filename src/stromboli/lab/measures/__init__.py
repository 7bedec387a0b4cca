"""Figures of a finished run.

windows        equal parts of the simulated time, and means within them
usage          what pods held over time: by resource, by queue and by node
waiting        jobs and requests that waited over time
fragmentation  free GPUs that typical jobs could not use
fairness       deviation from deserved shares, and equality of slowdowns
figures        all of them as plain values
"""

from stromboli.lab.measures.figures import measures_of

__all__ = ["measures_of"]
