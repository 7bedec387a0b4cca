"""Decoding of protobuf bodies, which Go clients prefer for built-in kinds, to JSON."""
