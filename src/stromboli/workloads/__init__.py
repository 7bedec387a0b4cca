"""From a workload object to its pods and their PodGroup: request, group, queue and priority class, in one place.

Webhook, controllers, planner and cache all use these functions, so that a spelling that one of them honours is one that
the others see. The package is pure and reads Kubernetes objects only.
"""
