"""Merging of changes into objects: patches of all types, and field ownership."""
