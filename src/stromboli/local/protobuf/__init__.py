"""Bodies in the binary form that Go clients prefer for built-in kinds, read into the JSON that all else is in."""
