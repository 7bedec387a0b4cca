"""The databases that can hold a history."""
