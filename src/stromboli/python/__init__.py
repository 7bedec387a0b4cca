"""The Python API, for scripts and notebooks. `import stromboli as sb` loads its names on first use.

options    how a trace is simulated, as keyword arguments
clusters   clusters of files, kubeconfigs and dumps
reading    what they are read from
plans      plans, and explanations of jobs
policies   policies as Python objects
traces     traces that are opened or generated
runs       one simulated run, with its jobs and figures
plots      pictures of runs
comparing  policies compared over seeds
gym        scheduling as an environment of Gymnasium
html       representations in notebooks
"""
