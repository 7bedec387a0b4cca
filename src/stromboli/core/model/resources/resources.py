"""Resources as exact integers over one growing axis.

The index of a resource on the axis is its index in every column and every sum of the scheduler. Amounts are integers:
milli-cpu, bytes of memory, a count of pods, and thousandths of every other resource. There is no epsilon and no
rounding: a request fits or it does not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import truediv

from stromboli.core.model.resources.quantity import format_quantity, parse_quantity, rounded_bytes

CPU, MEMORY, PODS = 0, 1, 2
BASE_RESOURCES = ("cpu", "memory", "pods")

#: No limit. Far above every amount that `parse_quantity` accepts, far below what overflows an int64 sum.
UNLIMITED = 1 << 62

#: The largest amount of a resource on a node; thousands of such amounts still add up in 64 bits.
MAX_PER_NODE = 1 << 50

#: Request of a task or a class: (dimension, amount) pairs with amounts above zero, dimensions ascending.
Request = tuple[tuple[int, int], ...]
#: A dense amount for every dimension of the axis.
Amounts = list[int]

#: The name of the dimension that all further names of requests share. No object can use it as a name.
UNOFFERED = "resources that no node offers"
#: A whole one of a resource in thousandths. Also the amount that a request has of `UNOFFERED`: small enough to be
#: added up.
_ONE = 1000

_MAX_SHORT_AMOUNT = 6
_BYTE_RESOURCES = ("memory", "ephemeral-storage")


def counts_in_milli(name: str) -> bool:
    """Report whether `name` is kept in thousandths: cpu and every scalar that is not bytes or pods."""
    return name != "pods" and not is_bytes(name)


def is_bytes(name: str) -> bool:
    """Report whether a resource is counted in bytes."""
    return name in _BYTE_RESOURCES or name.startswith("hugepages-")


def is_schedulable_name(name: str) -> bool:
    """Report whether a name in a resource list is a resource of nodes.

    Quota names (`count/pods`, `requests.cpu`) and unknown unqualified names are not; domain-qualified names are.
    """
    if name in BASE_RESOURCES or is_bytes(name) or name.startswith("attachable-volumes-"):
        return True
    domain, slash, _ = name.partition("/")
    return bool(slash) and domain != "count" and not domain.startswith("requests.")


def unit_hour(name: str) -> int:
    """Return an hour of a processor, a GiB or a device, in processors, bytes or devices times seconds."""
    return 3600 * (2**30 if is_bytes(name) else 1)


def hour_on_axis(name: str) -> float:
    """Return the same in the units of the axis times seconds."""
    return float(unit_hour(name) * (1000 if counts_in_milli(name) else 1))


def short_name(name: str, is_one: bool = False) -> str:
    """Return a resource name for a short text: without its domain, and `GPUs` for every vendor's `gpu`."""
    last = name.rpartition("/")[2]
    if last != "gpu":
        return last
    return "GPU" if is_one else "GPUs"


class ResourceAxis:
    """The names of all resources seen so far. It only grows, so an index stays valid.

    Every name is a column of every table, and any pod can make up names. At most `max_unoffered` names that only pods
    and PodGroups mention have a dimension of their own. The others share one, of which no node has any: no pod that
    requests them fits. If a node or a queue names one of them later (`promoted`), the cache builds another axis.
    """

    __slots__ = ("_index", "_is_left_out", "_max_unoffered", "folded", "names", "promoted")

    def __init__(
        self,
        names: Iterable[str] = BASE_RESOURCES,
        is_left_out: Callable[[str], bool] = lambda name: False,
        max_unoffered: int | None = None,
    ) -> None:
        self.names: list[str] = list(names)
        #: Names that are not node amounts: other components count them.
        self._is_left_out = is_left_out
        self._index = {name: dimension for dimension, name in enumerate(self.names)}
        #: How many more names of requests get a dimension of their own; None for all.
        self._max_unoffered = max_unoffered
        #: Names of requests that share a dimension.
        self.folded: set[str] = set()
        #: Those of them that a node or a queue has named since.
        self.promoted: set[str] = set()

    def __len__(self) -> int:
        return len(self.names)

    def dimension(self, name: str) -> int:
        """Return the index of `name`, adding it to the axis if it is new."""
        known = self._index.get(name)
        if known is None:
            known = self._index[name] = len(self.names)
            self.names.append(name)
            if name in self.folded:
                self.promoted.add(name)
        return known

    def find(self, name: str) -> int | None:
        return self._index.get(name)

    @property
    def unoffered(self) -> int | None:
        """The dimension that names share which no node offers; None if every name has its own."""
        return self._index.get(UNOFFERED)

    def parse(self, resources: Mapping[str, str | int | float] | None) -> dict[int, int]:
        """Parse amounts by dimension. Raises QuantityError that starts with the resource name."""
        return {self.dimension(name): amount for name, amount in self._parsed(resources)}

    def parse_request(self, resources: Mapping[str, str | int | float] | None) -> dict[int, int]:
        """Parse the amounts of a pod or PodGroup, which may name resources that do not exist."""
        amounts: dict[int, int] = {}
        for name, amount in self._parsed(resources):
            dimension = self._index.get(name)
            if dimension is None:
                dimension = self._dimension_of_request(name)
            if dimension == self.unoffered:
                amount = max(amounts.get(dimension, 0), _ONE if amount else 0)
            amounts[dimension] = amount
        return amounts

    def _dimension_of_request(self, name: str) -> int:
        """Return a dimension for a name that no node, queue or earlier request has."""
        if self._max_unoffered is None:
            return self.dimension(name)
        if self._max_unoffered > 0 and self.unoffered is None:
            self._max_unoffered -= 1
            return self.dimension(name)
        self.folded.add(name)
        return self.dimension(UNOFFERED)

    def _parsed(self, resources: Mapping[str, str | int | float] | None) -> Iterator[tuple[str, int]]:
        for name, text in (resources or {}).items():
            if is_schedulable_name(name) and not self._is_left_out(name):
                yield name, self._parse_one(name, text)

    @staticmethod
    def _parse_one(name: str, text: str | int | float) -> int:
        try:
            return parse_quantity(text, milli=counts_in_milli(name))
        except ValueError as error:
            raise type(error)(f"{name}: {error}") from None

    def format(self, dimension: int, amount: int) -> str:
        """Format an amount as Kubernetes does, such as `1500m`, `4Gi` or `8`."""
        name = self.names[dimension]
        return format_quantity(amount, milli=counts_in_milli(name), binary=is_bytes(name))

    def short(self, dimension: int, amount: int) -> str:
        """Format an amount with its resource for a short text, such as `8 cpu`, `31.2Gi memory` or `12 GPUs`."""
        text = self.short_amount(dimension, amount)
        return f"{text} {short_name(self.names[dimension], text == '1')}"

    def short_amount(self, dimension: int, amount: int) -> str:
        """Format an amount in few characters: a long number of bytes is rounded down, such as `31.2Gi`, and devices
        are counted in decimals, such as `6.4`.
        """
        name, text = self.names[dimension], self.format(dimension, amount)
        if dimension != CPU and counts_in_milli(name) and amount % _ONE:
            return f"{amount / _ONE:.3f}".rstrip("0")
        return text if len(text) <= _MAX_SHORT_AMOUNT or not is_bytes(name) else rounded_bytes(amount)

    def as_quantities(self, amounts: Sequence[int]) -> dict[str, str]:
        """Return the non-zero amounts by name, without unlimited ones."""
        return {
            self.names[dimension]: self.format(dimension, amount)
            for dimension, amount in enumerate(amounts)
            if 0 < amount < UNLIMITED
        }

    def describe(self, request: Iterable[tuple[int, int]]) -> str:
        """Describe a request, such as `cpu 2, memory 4Gi`; pods are left out, as every request has one."""
        words = [f"{self.names[d]} {self.format(d, amount)}" for d, amount in request if d != PODS]
        return ", ".join(words) or "nothing"


def request_of(amounts: Mapping[int, int]) -> Request:
    return tuple((dimension, amount) for dimension, amount in sorted(amounts.items()) if amount > 0)


def is_best_effort(request: Request) -> bool:
    """Report whether a request consists of its pod slot only."""
    return all(dimension == PODS for dimension, _ in request)


def dense(request: Iterable[tuple[int, int]], size: int) -> Amounts:
    amounts = [0] * size
    for dimension, amount in request:
        amounts[dimension] = amount
    return amounts


def add_request(amounts: Amounts, request: Request, copies: int = 1) -> None:
    for dimension, amount in request:
        amounts[dimension] += amount * copies


def add_amounts(total: Amounts, other: Sequence[int]) -> None:
    for dimension, amount in enumerate(other):
        total[dimension] += amount


def subtract_amounts(total: Amounts, other: Sequence[int]) -> None:
    for dimension, amount in enumerate(other):
        total[dimension] -= amount


def exceeding(left: Sequence[int], right: Sequence[int]) -> Amounts:
    """Return the part of `left` above `right`, at least zero."""
    return [max(a - b, 0) for a, b in zip(left, right, strict=True)]


def dominant_share(allocated: Sequence[float], total: Sequence[float]) -> float:
    """Return the largest held fraction of the cluster's resources."""
    if not any(allocated):  # most waiting jobs
        return 0.0
    if all(total):
        return max(0.0, *map(truediv, allocated, total))
    shares = (amount / whole if whole else 1.0 for amount, whole in zip(allocated, total, strict=True) if amount)
    return max(0.0, *shares)
