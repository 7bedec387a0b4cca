"""Stromboli: a batch scheduler for Kubernetes.

The Python API for scripts and notebooks, `import stromboli as sb`, is loaded on first use of its names. Their types are
in the stub beside this module.
"""

__version__ = "0.1.0"

#: Names of the Python API by module and attribute; an empty attribute means the module itself.
_LOADED_NAMES = {
    "Cluster": ("stromboli.python.clusters", "ReadCluster"),
    "Comparison": ("stromboli.python.comparing", "PolicyComparison"),
    "Explanation": ("stromboli.python.plans", "JobReport"),
    "Plan": ("stromboli.python.plans", "ClusterPlan"),
    "Policy": ("stromboli.python.policies", "SchedulingPolicy"),
    "Run": ("stromboli.python.runs", "TraceRun"),
    "Trace": ("stromboli.python.traces", "JobTrace"),
    "api": ("stromboli.api", ""),
    "compare": ("stromboli.python.comparing", "compare"),
    "gym": ("stromboli.python.gym", ""),
    "simulate": ("stromboli.python.runs", "simulate"),
}

__all__ = ["__version__", *_LOADED_NAMES]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _LOADED_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LOADED_NAMES[name]
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOADED_NAMES})
