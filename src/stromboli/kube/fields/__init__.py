"""Field names, kinds and annotations that exist, to find misspelt ones in manifests."""
