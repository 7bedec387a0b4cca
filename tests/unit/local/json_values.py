"""Arbitrary JSON for properties of patches: small, so that names collide."""

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c/d", "e~f"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "y"])
JSON = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=4)
