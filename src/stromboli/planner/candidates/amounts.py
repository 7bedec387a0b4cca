"""Step sizes for changed amounts: round numbers."""

from stromboli.core.model.resources.resources import is_bytes

_MEBIBYTE = 1 << 20


def step_of(name: str, amount: int) -> int:
    """Return about a hundredth of the amount, as a round number in the unit of the resource."""
    if is_bytes(name):
        round_steps = (step * _MEBIBYTE for step in (1024, 256, 64, 16, 4, 1))
        return next((step for step in round_steps if amount >= 64 * step), max(1, amount >> 6))
    if name == "cpu":
        return 100 if amount > 1000 else 10 if amount > 100 else 1
    return 1000 if amount >= 1000 else 1


def below(name: str, amount: int) -> tuple[int, int]:
    """Return the step for an amount, and the number of round amounts between zero and it."""
    step = step_of(name, amount)
    return step, -(-amount // step) - 1
