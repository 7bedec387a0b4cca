"""Volcano's Job and JobFlow: their PodGroups, pods and claims, as its controllers create them."""
