"""Which names an answer may contain: jobs and pods of other namespaces are only numbered.

Texts name a job or pod by its key, `namespace/name`. Every such key of another namespace becomes `other-namespace/1`,
where the number belongs to the key within one answer. Keys of namespaces that no longer exist are recognised by the
phrases in which a scheduler writes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

OTHER = "other-namespace"
_NAMESPACE = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9._:]*[A-Za-z0-9])?"
_KEY = re.compile(rf"(?<![-A-Za-z0-9._/])({_NAMESPACE})/({_NAME})")
#: A key after these words is that of a job or a pod.
_PHRASES = (
    "in favour of",
    "preempted by",
    "reserved for",
    "evicted for",
    "capacity of",
    "by",
    "for",
    "pod",
    "PodGroup",
)
_NAMED = re.compile(rf"\b({'|'.join(_PHRASES)}) ({_NAMESPACE}/{_NAME})")
_ALONE = re.compile(rf"\b([Nn]amespaces?) ({_NAMESPACE})(?![-A-Za-z0-9_/]|\.[A-Za-z0-9])")
#: The end of a text that was cut.
_CUT = re.compile(r"(?<![-A-Za-z0-9._/])([-a-z0-9]+)(/[-A-Za-z0-9._:]*)?(?=(?:\.\.\.|…)$)")
_NUMBERS = re.compile(r"[0-9]+/[0-9]+")


class HiddenNames:
    """Hides the names of all namespaces but those that a person may read; with None, nothing."""

    def __init__(self, own: Collection[str] | None, others: Collection[str]) -> None:
        self._hides_nothing = own is None
        self._own = frozenset(own or ())
        self._others = frozenset(others) - self._own
        self._numbers: dict[str, str] = {}

    def hide(self, text: str) -> str:
        """Return the text with numbers in place of foreign keys."""
        if self._hides_nothing:
            return text
        text = _NAMED.sub(lambda found: f"{found[1]} {self.key(found[2])}", text)
        text = _KEY.sub(lambda found: self._of_others(found[0], found[1]), text)
        text = _ALONE.sub(lambda found: self._without_namespace(found[0], found[1], found[2]), text)
        return _CUT.sub(lambda found: self._uncut(found[0], found[1]), text)

    def key(self, key: str) -> str:
        """Return the key of a job or pod, or the number of a foreign one."""
        namespace = key.partition("/")[0]
        if self._hides_nothing or namespace in self._own or namespace == OTHER or _NUMBERS.fullmatch(key):
            return key
        return self._number(key)

    def mentions(self, text: str) -> bool:
        """Report whether a text contains a name that would be hidden."""
        return self.hide(text) != text

    def in_values(self, value: Any) -> Any:
        """Return plain data with hidden names, also in the keys of objects."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            return {self.hide(key): self.in_values(each) for key, each in value.items()}
        return [self.in_values(each) for each in value] if isinstance(value, list) else value

    def _of_others(self, key: str, namespace: str) -> str:
        """Numbers such as `2/3` are no keys, although these could be names."""
        return key if namespace not in self._others or _NUMBERS.fullmatch(key) else self._number(key)

    def _without_namespace(self, whole: str, word: str, namespace: str) -> str:
        return f"{word} {OTHER}" if namespace in self._others else whole

    def _uncut(self, whole: str, namespace: str) -> str:
        is_other = any(each.startswith(namespace) for each in self._others)
        is_own = any(each.startswith(namespace) for each in self._own)
        return OTHER if is_other and namespace != OTHER and not is_own else whole

    def _number(self, key: str) -> str:
        return self._numbers.setdefault(key, f"{OTHER}/{len(self._numbers) + 1}")
