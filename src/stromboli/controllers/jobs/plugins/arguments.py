"""Arguments of job plugins: flags such as `--port=22`, written as for Volcano's plugins.

An unknown argument has no effect, as in Volcano, but is a warning. An invalid value is an error; Volcano logs it and
uses the default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from stromboli.controllers.jobs.plugins.plugin import JobPlugin, PluginArgumentError
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding

_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
_MAX_PORT = 65535


class PluginFlag(NamedTuple):
    """An argument; the type of the default is that of the values."""

    name: str
    default: bool | int | str
    meaning: str
    is_port: bool = False
    #: Other names, which Volcano's documentation or earlier versions use.
    aliases: tuple[str, ...] = ()
    #: Whether messages must not repeat the value.
    is_secret: bool = False


class PluginWithFlags(JobPlugin):
    """A job plugin that declares its arguments. Derived classes set `name` and `flags`."""

    flags: ClassVar[tuple[PluginFlag, ...]] = ()

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self.values: dict[str, Any] = {flag.name: flag.default for flag in self.flags}
        #: The arguments that have no effect.
        self.unknown: list[str] = []
        self._parse()

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        for argument in self.unknown:
            known = ", ".join(f"--{flag.name}" for flag in self.flags) or "none"
            message = f"argument {argument.partition('=')[0]!r} is unknown and has no effect"
            remedy = f"remove it; known arguments: {known}"
            yield RuleFinding(f"spec.plugins.{self.name}", message, remedy, is_warning=True)

    def _parse(self) -> None:
        known = {name: flag for flag in self.flags for name in (flag.name, *flag.aliases)}
        waiting = list(reversed(self.arguments))
        while waiting:
            argument = waiting.pop()
            written, assigns, text = argument.partition("=")
            flag = known.get(written.removeprefix("-").removeprefix("-")) if written.startswith("-") else None
            if flag is None:
                self.unknown.append(argument)
                continue
            if not assigns and not isinstance(flag.default, bool):
                if not waiting:
                    raise PluginArgumentError(self.name, argument, "has no value", f"write --{flag.name}=VALUE")
                text = waiting.pop()
            self.values[flag.name] = self._value(flag, text if assigns or text else "true")

    def _value(self, flag: PluginFlag, text: str) -> bool | int | str:
        if isinstance(flag.default, bool):
            if text not in (*_TRUE, *_FALSE):
                raise self.invalid(flag.name, text, "is not a boolean", f"write --{flag.name}=true or false")
            return text in _TRUE
        return self._number(flag, text) if isinstance(flag.default, int) else text

    def _number(self, flag: PluginFlag, text: str) -> int:
        try:
            number = int(text, 0)
        except ValueError:
            raise self.invalid(
                flag.name, text, "is not a whole number", f"write one such as --{flag.name}={flag.default}"
            ) from None
        if flag.is_port and not 1 <= number <= _MAX_PORT:
            raise self.invalid(flag.name, text, "is not a port", f"write a number from 1 to {_MAX_PORT}")
        return number

    def invalid(self, name: str, text: str, message: str, remedy: str) -> PluginArgumentError:
        """Return the error for the value of an argument."""
        flag = next(each for each in self.flags if each.name == name)
        return PluginArgumentError(self.name, f"--{name}" + ("" if flag.is_secret else f"={text}"), message, remedy)
