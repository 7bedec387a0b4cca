"""Which node: filters, scores, ranking, batch placement."""
