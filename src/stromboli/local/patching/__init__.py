"""How changes are merged into objects: patches of all kinds, and who owns which field."""
