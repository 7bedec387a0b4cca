"""The binder process, and the crash points of its client for tests."""
