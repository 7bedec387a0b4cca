"""Errors of expressions."""


class CompileError(ValueError):
    """The expression is invalid."""


class EvaluationError(ValueError):
    """The expression cannot be evaluated for these values."""


class CostLimitExceeded(EvaluationError):
    """The evaluation exceeds its cost limit."""
