"""The living scheduler: watches a cluster, runs cycles over it, and makes their decisions true."""
