"""The configuration that is recommended for production.

It differs from the default, which decides as Volcano does with the same file. Every difference has a comment that names
it, and a reason.
"""

RECOMMENDED = """\
# Recommended for production. Every difference from the default is explained.
#
# preempt: without it, jobs of higher priority wait for jobs of lower priority in their own queue.
# reclaim: without it, a queue that gets jobs again waits until others return what it deserves.
# gangpreempt, gangreclaim: if these find no victims for a gang, whole gangs are evicted for it.
# stalegang: a gang that lost members and is below its minimum holds nodes without progress. Its members are replaced
#   before other jobs are served; if that fails for a minute, the rest is evicted, and the gang starts again as a whole.
actions: "enqueue, stalegang, allocate, backfill, preempt, gangpreempt, reclaim, gangreclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
    arguments:
      # lendIdle: each resource is divided for itself, so capacity can stay idle while all queues wait. It is lent to
      #   queues beyond their share; reclaim returns it.
      lendIdle: true
      # reclaimBeyondMinimum: reclaim serves elastic jobs up to the share of their queue, not only up to minMember.
      reclaimBeyondMinimum: true
  - name: nodeorder
  - name: binpack
configurations:
# rearrange: a gang that finds no nodes gets some if pods that are placed in the same cycle fit elsewhere.
- name: allocate
  arguments:
    rearrange: true
    # starvationTime: a job that has waited for nodes for so long gets nodes of its own as they become free, so that
    #   smaller jobs cannot overtake it indefinitely.
    starvationTime: 1h
# priorityFirst: evict pods of the lowest priority, instead of members above the minimum of their gang, whatever their
#   priority.
- name: gangpreempt
  arguments:
    priorityFirst: true
- name: gangreclaim
  arguments:
    priorityFirst: true
"""
