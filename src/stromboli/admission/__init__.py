"""The admission webhook: validates objects before they are stored and sets defaults.

The rules are pure: a request and the known state of the cluster give a verdict. Requests to the API server, for objects
and for access reviews, are made around them.
"""
