"""usage: pods go where little is really used, and not where too much is."""
