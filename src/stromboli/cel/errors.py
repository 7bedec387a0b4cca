"""What can go wrong with an expression."""


class CompileError(ValueError):
    """The expression makes no sense, whatever it is asked about."""


class EvaluationError(ValueError):
    """The expression has no answer for the values it was given."""


class TooCostly(EvaluationError):
    """The expression takes more steps than anybody gets."""
