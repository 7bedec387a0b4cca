"""Manifests: files, YAML, and error messages for their authors."""
