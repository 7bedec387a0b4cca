"""Indexes: sets of members by key, without empty sets."""

from __future__ import annotations


def discard_member(index: dict[str, set[str]], key: str, member: str) -> None:
    """Remove a member, and the set of the key if it is empty then."""
    members = index.get(key)
    if members is not None:
        members.discard(member)
        if not members:
            del index[key]
