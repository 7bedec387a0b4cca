"""YAML and JSON text to plain values, and back."""

import re
from collections.abc import Iterable

import msgspec
import yaml

from stromboli.kube.manifests.anchors import MAX_ADDED_VALUES
from stromboli.kube.manifests.lines import ManifestText
from stromboli.kube.manifests.plain_scalars import FLOAT, INTEGER
from stromboli.kube.manifests.yaml_builder import TOO_DEEP, YamlBuilder
from stromboli.kube.manifests.yaml_errors import YamlError, position_of

#: The decoder's message about JSON text that ends too early.
_TRUNCATED = "Input data was truncated"
SIZE_LIMIT = 64 * 1024 * 1024

_STARTS_LIKE_JSON = re.compile(r'\s*[\[{"]')


def load_documents(text: str, source: str) -> list[object]:
    """Parse all documents of a text, empty ones as None. `source` names the text in errors."""
    return load_with_lines(text, source)[0]


def load_body(text: str, source: str, max_added_values: int) -> object:
    """Parse the only document of a text, in which aliases may add that many values."""
    documents = _load_yaml(text, source, max_added_values)[0]
    if len(documents) > 1:
        raise YamlError(source, (1, 1), "more than one document", "send them one by one")
    return documents[0] if documents else None


def load_with_lines(text: str, source: str) -> tuple[list[object], ManifestText]:
    """Parse all documents of a text; also return their text, to find lines in.

    JSON takes a fast path; there a duplicate key keeps its last value, as in other JSON parsers.
    """
    if len(text) > SIZE_LIMIT:
        raise YamlError(source, (1, 1), f"the text is longer than {SIZE_LIMIT} characters", "split it")
    if _STARTS_LIKE_JSON.match(text):
        try:
            return [msgspec.json.decode(text)], ManifestText(source, text)
        except RecursionError:
            raise YamlError(source, (1, 1), *TOO_DEEP) from None
        except (msgspec.MsgspecError, UnicodeError) as error:
            # YAML's flow style looks alike; if the text is neither, YAML's error has line and column.
            is_truncated = str(error) == _TRUNCATED
        try:
            return _load_yaml(text, source)
        except YamlError:
            if is_truncated:
                place = _after(text.rstrip())
                raise YamlError(source, place, "the JSON text is truncated", "save or download it again") from None
            raise
    return _load_yaml(text, source)


def dump_documents(documents: Iterable[object]) -> str:
    """Write plain values as YAML, keys in their order, so that every parser reads the same values back."""
    return str(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False))


def _load_yaml(text: str, source: str, max_added_values: int = MAX_ADDED_VALUES) -> tuple[list[object], ManifestText]:
    builder = YamlBuilder(source, max_added_values)
    handlers = builder.handlers
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if handler := handlers.get(type(event)):
                handler(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark and text[mark.index : mark.index + 1] == "\t":
            raise YamlError(source, position_of(mark), "a tab cannot indent YAML", "use spaces") from None
        message = " ".join(part for part in (error.problem, error.context) if part)
        raise YamlError(source, position_of(mark), message, "correct the text there") from None
    except yaml.reader.ReaderError as error:
        position = _after(text.encode()[: error.position].decode(errors="replace"))
        raise YamlError(source, position, str(error.reason), "remove the character") from None
    except UnicodeEncodeError as error:
        position = _after(text[: error.start])
        raise YamlError(source, position, "half of a character", "save the text as UTF-8") from None
    return builder.documents, ManifestText(source, text, builder.starts, builder.items)


def _after(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


class _Dumper(yaml.CSafeDumper):
    """Writes equal parts out instead of aliases, and quotes text that other parsers read as numbers."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Text of several lines uses the block style."""
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(rf"{FLOAT.pattern}$"), list("-+.0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(rf"{INTEGER.pattern}$"), list("-+0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))
