"""The clusters in which the jobs of a trace run. Both take the same decisions: a property test compares them.

world       what a simulation needs of a cluster
fast_world  the state of the cache alone: a job is entered as a whole, without objects
store_world objects in the store of the embedded server, watched as in a cluster
"""
