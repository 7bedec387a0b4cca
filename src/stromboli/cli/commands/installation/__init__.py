"""Commands that install Stromboli and describe a cluster to it."""
