"""Amounts as exact integers."""
