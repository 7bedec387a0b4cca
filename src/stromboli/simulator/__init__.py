"""The simulator: a day of a cluster in seconds.

Time is virtual and jumps from event to event. Everything else is as it is in a cluster: objects are kept in the store
of the embedded server, what changes there is reported to the cache, cycles run over its snapshots, and what they
decide becomes true in the store.

    workload      which objects arrive when
    agenda        what will happen, in order of time
    world         the cluster: store, cache, pods that start, end and are evicted
    simulation    the loop: events, then a cycle when somebody waits
    measurements  who waited how long, and what was in use
    report        all of it as plain values
"""
