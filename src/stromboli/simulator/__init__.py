"""The simulator: a day of a cluster in seconds.

Time is virtual and jumps from event to event. Everything else works as in a cluster: objects are kept in the store of
the embedded server, changes are applied to the cache, cycles run over its snapshots, and their decisions are written
to the store.

    workload         arrival times of objects
    virtual_cluster  store, cache, and pods that start, end and are evicted
    simulation       the event queue and the loop: events, then a cycle while jobs are pending
    measurements     waiting times and utilisation
    report           the results as plain values
"""
