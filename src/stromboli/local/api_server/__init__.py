"""The embedded API server: store, writes, watches, lists."""
