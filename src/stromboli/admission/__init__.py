"""A webhook that looks at objects before they are stored: it refuses what can never work or is not allowed, and fills
in what was not said.

The rules are pure: a request and what is known of the cluster give a verdict. Whoever asks the cluster, for what is
known and for what people may do, stands around them.
"""
