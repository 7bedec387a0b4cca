"""The wire types of the console. Names are stable, and fields may be added. Times are seconds since the epoch."""
