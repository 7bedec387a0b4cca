"""The arguments of capacity."""

from stromboli.core.config.arguments import Argument, Arguments

COUNTS_DEVICES = "capacity.DynamicResourceAllocationEnable"


class CapacityArguments(Arguments):
    reclaim_level: int = Argument("ancestorReclaimLevel", 0, "How many ancestors of a queue take part in reclaim.")
    counts_devices: bool = Argument(COUNTS_DEVICES, True, "Count devices of resource claims where a queue limits them.")
    counts_shares: bool = Argument("capacity.DRAConsumableCapacityEnable", False, "Count shares of devices as well.")
    shares_surplus: bool = Argument("shareSurplus", False, "Divide what deserved amounts leave by weight; reclaim it.")
    serves_members: bool = Argument(
        "reclaimBeyondMinimum", False, "Reclaim deserved amounts also for members above the minimum of a job."
    )
    limits_non_preemptable: bool = Argument(
        "nonPreemptableWithinDeserved", False, "Keep non-preemptable jobs within the deserved amounts of their queue."
    )
    non_preemptable_priority: int = Argument(
        "nonPreemptablePriority", 0, "Jobs from this priority on are non-preemptable; 0 for none.", minimum=0
    )
