"""Answers of the scheduler for people who may read one namespace, served as an aggregated API.

questions    what can be asked, and the answers
names        which names an answer may contain: those of one namespace
callers      who asks: by the front proxy of the API server, or by a token
reviews      whether the API server authenticates a token, and what its user may do
limits       how much one person may ask at a time
snapshots    dumps of the cache, each for the questions of some seconds
process      one answer, calculated in a process of its own
api          paths, discovery documents and responses
server       a thread that serves all that
"""
