"""Node search: filters, scores, ranking, batch placement."""
