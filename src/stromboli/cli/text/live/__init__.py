"""The live view of a cluster: frames of one moment, shown on a terminal or printed line by line."""
