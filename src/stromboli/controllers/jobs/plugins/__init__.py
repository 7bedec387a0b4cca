"""Job plugins: what `spec.plugins` of a Volcano Job adds to its pods, and the objects that they need."""
