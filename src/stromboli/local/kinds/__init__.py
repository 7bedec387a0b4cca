"""Rules of the kinds: defaults, validation, and effects of writes."""
