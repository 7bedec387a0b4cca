from stromboli import api as api
from stromboli.python import gym as gym
from stromboli.python.clusters import ReadCluster as Cluster
from stromboli.python.comparing import PolicyComparison as Comparison
from stromboli.python.comparing import compare as compare
from stromboli.python.plans import ClusterPlan as Plan
from stromboli.python.plans import JobReport as Explanation
from stromboli.python.policies import SchedulingPolicy as Policy
from stromboli.python.runs import TraceRun as Run
from stromboli.python.runs import simulate as simulate
from stromboli.python.traces import JobTrace as Trace

__all__ = [
    "Cluster",
    "Comparison",
    "Explanation",
    "Plan",
    "Policy",
    "Run",
    "Trace",
    "__version__",
    "api",
    "compare",
    "gym",
    "simulate",
]

__version__: str
